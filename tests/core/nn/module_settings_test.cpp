// Settings of a module beside its attributes, with ops of the test's own.
#include "core/nn/module_settings.hpp"

#include <cstdlib>
#include <filesystem>

#include "core/base/json.hpp"
#include "core/dispatch/table/registry.hpp"
#include "core/nn/state.hpp"
#include "tests/core/nn/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

using Floats = std::vector<float>;

tenon_status fill(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                  tenon_error**) {
  Tensor& x = *arguments[0].as.tensor;
  for (int64_t i = 0; i < x.view.count; ++i)
    static_cast<float*>(x.view.data)[i] = static_cast<float>(arguments[1].as.number);
  results[0] = tensor_value(TensorRef(&x).give());
  return TENON_OK;
}
tenon_status look(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                  tenon_error**) {
  results[0] = tensor_value(TensorRef(arguments[0].as.tensor).give());
  return TENON_OK;
}
// Init ops of the test's own.
const Registry& init_ops() {
  static const auto* const table = [] {
    const tenon_op_descriptor ops[] = {
        descriptor("settings_test.fill_(Tensor(a!) x, float val=1.0) -> Tensor(a!)", fill),
        descriptor("settings_test.look(Tensor x) -> Tensor", look)};
    const tenon_op_descriptor* pointers[] = {&ops[0], &ops[1]};
    auto* made = new Registry;
    made->commit("settings_test", pointers);
    return made;
  }();
  return *table;
}

// A module with a child, both with a weight of two elements.
struct Tree {
  Tree() { register_child(*root, "inner", types.make().get()); }
  void apply(const std::string& text) const {
    const Json document = parse_json(text);
    for (const tenon_json* setting : module_settings(*root->type, *document))
      apply_module_setting(*root, *setting, init_ops());
  }
  std::string fault(const std::string& text, tenon_status kind = TENON_ERROR_VALUE) const {
    return refusal([&] { apply(text); }, kind);
  }
  Floats values(const char* name) const { return read(*find_tensor(*root, name)); }

  Types types;
  ModuleRef root = types.make();
};

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/tenon-settings-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

TEST_SUITE("nn/module_settings") {
  TEST_CASE("settings come in the order in which they are applied, whatever the document's order") {
    const Types types;
    const Json document = parse_json(
        R"({"frozen": true, "type": "Block", "dtype": "float64", "width": 3, "load": "x", "init": {}})");
    std::string keys;
    for (const tenon_json* setting : module_settings(types["Block"], *document))
      keys += std::string(setting->key()) + " ";
    CHECK(keys == "init load dtype frozen ");
    CHECK(module_settings(types["Block"], *parse_json("\"Block\"")).empty());
    CHECK_FALSE(is_module_setting(types["Block"], "width"));
    CHECK_FALSE(is_module_setting(types["Block"], "type"));
  }

  TEST_CASE("an attribute of the same name takes precedence") {
    const tenon_module_descriptor made = block("Own(int width=2, str dtype='f32')");
    const tenon_module_descriptor* one[] = {&made};
    ModuleTable table;
    table.commit(table.prepare("test", one));
    CHECK_FALSE(is_module_setting(*table.find("Own"), "dtype"));
    CHECK(is_module_setting(*table.find("Own"), "frozen"));
    CHECK(module_settings(*table.find("Own"), *parse_json(R"({"dtype": "f64"})")).empty());
  }

  TEST_CASE("init runs an op, with its keywords, on each parameter that a pattern names") {
    const Tree tree;
    tree.apply(R"({"init": {"*": "settings_test.fill_",
                            "inner.*": {"type": "settings_test.fill_", "val": 3}}})");
    CHECK(tree.values("weight") == Floats{1, 1});
    CHECK(tree.values("inner.weight") == Floats{3, 3});
    CHECK(find_tensor(*tree.root, "weight")->requires_grad());
    CHECK(find_tensor(*tree.root, "weight")->node == nullptr);
  }

  TEST_CASE("an init that names no parameter, no op, or one that changes nothing is refused") {
    const Tree tree;
    CHECK(tree.fault(R"({"init": {"bias": "settings_test.fill_"}})") ==
          "no parameter of Block fits 'bias'; it has weight, inner.weight");
    CHECK(has(tree.fault(R"({"init": {"*": "settings_test.look"}})"),
              "op 'settings_test.look' does not change its first argument in place"));
    CHECK(has(tree.fault(R"({"init": {"*": 3}})"), "found 3, expected the name of an op"));
    CHECK(has(tree.fault(R"({"init": {"*": {"val": 3}}})"), "expected the name of an op"));
    CHECK(has(tree.fault(R"({"init": "settings_test.fill_"})"), "\"init\" is an object"));
    CHECK(tree.values("weight") == Floats{1, 2});
  }

  TEST_CASE("load reads a file beside the document, of it what begins with a prefix") {
    const Tree tree, other;
    const Folder folder;
    static_cast<float*>(find_tensor(*other.root, "inner.weight")->view.data)[0] = 8;
    save_module(*other.root, folder.path() + "/state.safetensors");
    JsonOptions options;
    options.source = folder.path() + "/net.json";
    const Json whole = parse_json(R"({"load": "state.safetensors"})", options);
    apply_module_setting(*tree.root, *whole->find("load"), init_ops());
    CHECK(tree.values("inner.weight") == Floats{8, 2});
    const Types types;
    const ModuleRef alone = types.make();
    const Json part =
        parse_json(R"({"load": {"file": "state.safetensors", "prefix": "inner."}})", options);
    apply_module_setting(*alone, *part->find("load"), init_ops());
    CHECK(read(*find_tensor(*alone, "weight")) == Floats{8, 2});
    // Strict: what the file lacks is an error, and without it is left as it is.
    const ModuleRef bigger = types.make();
    register_parameter(*bigger, "more", floats({5}).get());
    CHECK(has(refusal([&] { apply_module_setting(*bigger, *part->find("load"), init_ops()); },
                      TENON_ERROR_RUNTIME),
              "more"));
    const Json lax = parse_json(
        R"({"load": {"file": "state.safetensors", "prefix": "inner.", "strict": false}})", options);
    apply_module_setting(*bigger, *lax->find("load"), init_ops());
    CHECK(read(*find_tensor(*bigger, "more")) == Floats{5});
    CHECK(read(*find_tensor(*bigger, "weight")) == Floats{8, 2});
  }

  TEST_CASE("a dtype is of the module and all below it, and frozen parameters require no grad") {
    const Tree tree;
    tree.apply(R"({"dtype": "float64", "frozen": true})");
    for (const char* name : {"weight", "inner.weight"}) {
      CHECK(find_tensor(*tree.root, name)->view.dtype == TENON_F64);
      CHECK_FALSE(find_tensor(*tree.root, name)->requires_grad());
    }
    const Tree other;
    other.apply(R"({"frozen": false})");
    CHECK(find_tensor(*other.root, "weight")->requires_grad());
    CHECK(has(other.fault(R"({"dtype": "float65"})"), "float65"));
    CHECK(other.fault(R"({"frozen": "yes"})", TENON_ERROR_TYPE) != "");
  }
}
