// The state of modules: what comes back, and what is said of states that do not fit.
#include "core/nn/state.hpp"

#include "core/base/json.hpp"
#include "tests/core/nn/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

ModuleRef of_width(const Types& types, int64_t width) {
  const tenon_value attributes[] = {integer(width)};
  return create_module(types["Block"], attributes, {}, {});
}

// Copies, as a file has them.
std::vector<NamedTensor> saved_state(tenon_module& module) {
  std::vector<NamedTensor> state = module_state(module);
  for (NamedTensor& entry : state) entry.tensor = contiguous_copy(*entry.tensor);
  return state;
}

}  // namespace

TEST_SUITE("nn/state") {
  TEST_CASE("every parameter and persistent buffer comes back into the same handles") {
    const Types types;
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
    const std::vector<NamedTensor> state = saved_state(*saved);
    const ModuleRef loaded = tree();
    Tensor* const weight = find_tensor(*loaded, "child.weight");
    load_state(*loaded, {state, nullptr, "x"}, TENON_LOAD_STRICT);
    CHECK(find_tensor(*loaded, "child.weight") == weight);
    CHECK(read(*weight) == std::vector<float>{4, 4, 4});
    CHECK(weight->requires_grad());
    CHECK(read(*find_tensor(*loaded, "mean")) == std::vector<float>{6});
    CHECK(read(*find_tensor(*loaded, "cache")) == std::vector<float>{9});
  }

  TEST_CASE("missing and unexpected keys are named together, and nothing is loaded then") {
    const Types types;
    const ModuleRef saved = types.make();
    register_buffer(*saved, "old", floats({1}).get(), true);
    fill(*find_tensor(*saved, "weight"), int_value(4));
    const std::vector<NamedTensor> state = saved_state(*saved);
    const ModuleRef other = types.make();
    register_buffer(*other, "new", floats({2}).get(), true);
    CHECK(refusal(
              [&] {
                load_state(*other, {state, nullptr, "x"}, TENON_LOAD_STRICT);
              },
              TENON_ERROR_RUNTIME) ==
          "Error(s) in loading state_dict for Block:\n\tMissing key(s) in state_dict: \"new\".\n\t"
          "Unexpected key(s) in state_dict: \"old\".\n\tThe file is 'x'.");
    CHECK(read(*find_tensor(*other, "weight")) == std::vector<float>{1, 2});
    load_state(*other, {state, nullptr, "x"}, 0);
    CHECK(read(*find_tensor(*other, "weight")) == std::vector<float>{4, 4});
    CHECK(read(*find_tensor(*other, "new")) == std::vector<float>{2});
  }

  TEST_CASE("a size that differs is refused, strict or not") {
    const Types types;
    const std::vector<NamedTensor> state = saved_state(*of_width(types, 3));
    const ModuleRef other = types.make();
    for (const bool strict : {true, false}) {
      CHECK(has(refusal(
                    [&] {
                      load_state(*other, {state, nullptr, "x"}, strict ? TENON_LOAD_STRICT : 0);
                    },
                    TENON_ERROR_RUNTIME),
                "size mismatch for weight: copying a param with shape [3] from checkpoint, the "
                "shape in current model is [2]."));
    }
  }

  TEST_CASE("a shared tensor is stored under each of its names") {
    const Types types;
    const ModuleRef root = types.make();
    register_parameter(*root, "tied", find_tensor(*root, "weight"));
    const std::vector<NamedTensor> state = saved_state(*root);
    CHECK(state.size() == 2);
    const ModuleRef again = types.make();
    register_parameter(*again, "tied", find_tensor(*again, "weight"));
    load_state(*again, {state, nullptr, "x"}, TENON_LOAD_STRICT);
    CHECK(find_tensor(*again, "tied") == find_tensor(*again, "weight"));
  }
}
