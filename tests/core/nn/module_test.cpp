// Modules of types that the test registers in its own table: names, walks, conversion, text.
#include "core/nn/module.hpp"

#include <random>

#include "core/autograd/grad.hpp"
#include "tests/core/nn/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

std::vector<std::string> names(tenon_module& module, Walk what, WalkOptions options = {}) {
  std::vector<std::string> list;
  for (const WalkItem& item : walk(module, what, options)) list.push_back(item.name);
  return list;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_SUITE("nn/module") {
  TEST_CASE("a table takes all of a plugin's types or none, and no name twice") {
    ModuleTable table;
    const tenon_module_descriptor good = block(), bad = [] {
      tenon_module_descriptor made = block("Half()");
      made.forward = nullptr;
      return made;
    }();
    const tenon_module_descriptor* both[] = {&good, &bad};
    CHECK(has(refusal([&] { table.prepare("p", both); }, TENON_ERROR_VALUE),
              "module 'Half' of plugin 'p' has no create or no forward; set both"));
    CHECK(table.find("Block") == nullptr);
    const tenon_module_descriptor* one[] = {&good};
    table.commit(table.prepare("p", one));
    REQUIRE(table.find("Block") != nullptr);
    CHECK(table.find("Block")->provider == "p");
    CHECK(has(refusal([&] { table.prepare("q", one); }, TENON_ERROR_PLUGIN),
              "has two providers: 'p' and 'q'"));
  }

  TEST_CASE("a type that is not there is asked of the finder") {
    ModuleTable table;
    refusal([&] { table.require("Block"); }, TENON_ERROR_VALUE);
    table.set_finder([&](std::string_view) {
      static const tenon_module_descriptor made = block();
      const tenon_module_descriptor* one[] = {&made};
      table.commit(table.prepare("late", one));
    });
    CHECK(table.require("Block").provider == "late");
  }

  TEST_CASE("attributes are bound like arguments, and given to create") {
    const Types types;
    const tenon_value width[] = {integer(3)};
    const ModuleRef module = create_module(types["Block"], width, {}, {});
    CHECK(find_tensor(*module, "weight")->view.count == 3);
    CHECK(module_text(*module) == "Block(width=3)");
    CHECK(has(refusal(
                  [&] {
                    const tenon_value wrong[] = {number(1.5)};
                    create_module(types["Block"], wrong, {}, {});
                  },
                  TENON_ERROR_TYPE),
              "width"));
  }

  TEST_CASE("names are not empty, hold no dot, and are there once") {
    const Types types;
    const ModuleRef module = types.make();
    const TensorRef tensor = floats({1});
    const auto refused = [&](const std::string& name) {
      return refusal([&] { register_parameter(*module, name, tensor.get()); }, TENON_ERROR_VALUE);
    };
    CHECK(refused("") == "parameter name can't be empty string \"\"");
    CHECK(refused("a.b") == "parameter name can't contain \".\", got: 'a.b'");
    CHECK(has(refused("weight"), "'weight' is already defined in Block"));
    CHECK(has(
        refusal([&] { register_buffer(*module, "weight", tensor.get(), true); }, TENON_ERROR_VALUE),
        "'weight' is already defined"));
    CHECK(names(*module, Walk::Parameters) == Names{"weight"});
  }

  TEST_CASE("a parameter requires grad; a tensor that does not is left as it is") {
    const Types types;
    const ModuleRef module = types.make();
    const TensorRef plain = floats({1, 2}), own = floats({3});
    set_requires_grad(*own, true);
    register_parameter(*module, "plain", plain.get());
    register_parameter(*module, "own", own.get());
    CHECK_FALSE(plain->requires_grad());
    CHECK(find_tensor(*module, "plain")->requires_grad());
    CHECK(find_tensor(*module, "plain")->view.data == plain->view.data);
    CHECK(find_tensor(*module, "own") == own.get());
  }

  TEST_CASE("walks go parents first, under the first name of what is shared") {
    const Types types;
    const ModuleRef root = types.make(), left = types.make(), right = types.make();
    register_child(*root, "left", left.get());
    register_child(*left, "inner", right.get());
    register_child(*root, "right", right.get());
    CHECK(names(*root, Walk::Modules) == Names{"", "left", "left.inner"});
    CHECK(names(*root, Walk::Parameters) == Names{"weight", "left.weight", "left.inner.weight"});
    WalkOptions all;
    all.duplicates = true;
    CHECK(names(*root, Walk::Parameters, all) ==
          Names{"weight", "left.weight", "left.inner.weight", "right.weight"});
    WalkOptions own;
    own.recurse = false;
    CHECK(names(*root, Walk::Parameters, own) == Names{"weight"});
    CHECK(names(*root, Walk::Children, own) == Names{"left", "right"});
    CHECK(find_child(*root, "left.inner") == right.get());
    CHECK(has(refusal([&] { find_child(*root, "left.none"); }, TENON_ERROR_VALUE), "none"));
  }

  TEST_CASE("training is a property of the whole tree") {
    const Types types;
    const ModuleRef root = types.make(), child = types.make();
    register_child(*root, "child", child.get());
    set_training(*root, false);
    CHECK_FALSE(root->training);
    CHECK_FALSE(child->training);
    set_training(*root, true);
    CHECK(child->training);
  }

  TEST_CASE("a conversion keeps handles, and leaves integers alone") {
    const Types types;
    const ModuleRef module = types.make();
    Tensor* const weight = find_tensor(*module, "weight");
    const std::vector<float> before = read(*weight);
    const TensorRef count = contiguous_copy(*floats({7}), TENON_I64);
    register_buffer(*module, "count", count.get(), true);
    convert(*module, TENON_F64);
    CHECK(find_tensor(*module, "weight") == weight);
    CHECK(weight->view.dtype == TENON_F64);
    CHECK(weight->requires_grad());
    CHECK(read(*weight) == before);
    CHECK(find_tensor(*module, "count")->view.dtype == TENON_I64);
  }

  TEST_CASE("children are printed inside of their parent, indented") {
    const Types types;
    const ModuleRef root = types.make(), child = types.make();
    register_child(*root, "child", child.get());
    CHECK(module_text(*root) == "Block(\n  width=2\n  (child): Block(width=2)\n)");
  }

  TEST_CASE("states are destroyed once, with the last handle, in trees of any depth") {
    const Types types;
    types.destroyed = 0;
    constexpr int kDepth = 20'000;
    {
      ModuleRef last = types.make();
      for (int i = 1; i < kDepth; ++i) {
        ModuleRef outer = types.make();
        register_child(*outer, "inner", last.get());
        last = std::move(outer);
      }
      const ModuleRef kept(find_child(*last, "inner"));
      last = {};
      CHECK(types.destroyed == 1);
    }
    CHECK(types.destroyed == kDepth);
  }

  TEST_CASE("a module is called with its state, and its failure passes on") {
    const Types types;
    const ModuleRef module = types.make();
    const TensorRef x = floats({5});
    const tenon_value inputs[] = {tensor_value(x.get())};
    tenon_value result{};
    call_module(*module, inputs, result);
    CHECK(result.as.tensor == x.get());
    release_value(result);
    CHECK(refusal([&] { call_module(*module, {}, result); }, TENON_ERROR_INDEX) == "no input");
  }
}
