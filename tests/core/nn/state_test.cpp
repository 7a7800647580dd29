// The state of modules in files: what comes back, and what is said of files that do not fit.
#include "core/nn/state.hpp"

#include <cstdlib>
#include <filesystem>

#include "core/tensor/file.hpp"
#include "tests/core/nn/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

class File {
 public:
  File() {
    char name[] = "/tmp/tenon-state-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    folder_ = name;
  }
  ~File() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/state.safetensors"; }

 private:
  std::string folder_;
};

ModuleRef of_width(const Types& types, int64_t width) {
  const tenon_value attributes[] = {integer(width)};
  return create_module(types["Block"], attributes, {}, {});
}

}  // namespace

TEST_SUITE("nn/state") {
  TEST_CASE("every parameter and persistent buffer comes back into the same handles") {
    const Types types;
    const File file;
    const auto tree = [&] {
      ModuleRef root = types.make();
      const ModuleRef child = of_width(types, 3);
      register_child(*root, "child", child.get());
      register_buffer(*root, "mean", floats({0.5f}).get(), true);
      register_buffer(*root, "cache", floats({9}).get(), false);
      return root;
    };
    const ModuleRef saved = tree();
    for (const WalkItem& item : walk(*saved, Walk::Parameters, {}))
      fill(*item.tensor, int_value(4));
    fill(*find_tensor(*saved, "mean"), int_value(6));
    fill(*find_tensor(*saved, "cache"), int_value(8));
    save_module(*saved, file.path());
    const ModuleRef loaded = tree();
    Tensor* const weight = find_tensor(*loaded, "child.weight");
    load_module(*loaded, file.path(), true);
    CHECK(find_tensor(*loaded, "child.weight") == weight);
    CHECK(read(*weight) == std::vector<float>{4, 4, 4});
    CHECK(weight->requires_grad());
    CHECK(read(*find_tensor(*loaded, "mean")) == std::vector<float>{6});
    CHECK(read(*find_tensor(*loaded, "cache")) == std::vector<float>{9});
  }

  TEST_CASE("missing and unexpected keys are named together, and nothing is loaded then") {
    const Types types;
    const File file;
    const ModuleRef saved = types.make();
    register_buffer(*saved, "old", floats({1}).get(), true);
    fill(*find_tensor(*saved, "weight"), int_value(4));
    save_module(*saved, file.path());
    const ModuleRef other = types.make();
    register_buffer(*other, "new", floats({2}).get(), true);
    CHECK(refusal([&] { load_module(*other, file.path(), true); }, TENON_ERROR_RUNTIME) ==
          "Error(s) in loading state_dict for Block:\n\tMissing key(s) in state_dict: \"new\".\n\t"
          "Unexpected key(s) in state_dict: \"old\".\n\tThe file is '" +
              file.path() + "'.");
    CHECK(read(*find_tensor(*other, "weight")) == std::vector<float>{1, 2});
    load_module(*other, file.path(), false);
    CHECK(read(*find_tensor(*other, "weight")) == std::vector<float>{4, 4});
    CHECK(read(*find_tensor(*other, "new")) == std::vector<float>{2});
  }

  TEST_CASE("a size that differs is refused, strict or not") {
    const Types types;
    const File file;
    save_module(*of_width(types, 3), file.path());
    const ModuleRef other = types.make();
    for (const bool strict : {true, false}) {
      CHECK(has(refusal([&] { load_module(*other, file.path(), strict); }, TENON_ERROR_RUNTIME),
                "size mismatch for weight: copying a param with shape [3] from checkpoint, the "
                "shape in current model is [2]."));
    }
  }

  TEST_CASE("a shared tensor is stored under each of its names") {
    const Types types;
    const File file;
    const ModuleRef root = types.make();
    register_parameter(*root, "tied", find_tensor(*root, "weight"));
    save_module(*root, file.path());
    CHECK(load_tensors(file.path()).tensors.size() == 2);
    const ModuleRef again = types.make();
    register_parameter(*again, "tied", find_tensor(*again, "weight"));
    load_module(*again, file.path(), true);
    CHECK(find_tensor(*again, "tied") == find_tensor(*again, "weight"));
  }
}
