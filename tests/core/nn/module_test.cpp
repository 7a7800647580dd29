// Members of modules: names, values, locations; the end of a tree.
#include "core/nn/module.hpp"

#include "core/autograd/engine/grad.hpp"
#include "core/dispatch/binding/value.hpp"
#include "tests/core/nn/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("nn/module") {
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

  TEST_CASE("a name takes another value of its kind, and its location follows") {
    const Types types;
    const ModuleRef root = types.make(), child = types.make();
    register_parameter(*root, "bias", nullptr);
    register_buffer(*root, "mean", nullptr, true);
    register_child(*root, "part", nullptr);
    tenon_tensor* bias = nullptr;
    tenon_module* part = nullptr;
    bind_member(*root, "bias", reinterpret_cast<void**>(&bias));
    bind_member(*root, "part", reinterpret_cast<void**>(&part));
    CHECK(bias == nullptr);
    const TensorRef plain = floats({1, 2});
    const tenon_value tensor = tensor_value(plain.get());
    tenon_value module{};
    module.tag = TENON_VALUE_MODULE;
    module.as.module = child.get();
    CHECK(refusal([&] { assign_member(*root, "bias", tensor, false); }, TENON_ERROR_TYPE) ==
          "cannot assign 'Tensor' as parameter 'bias' (Parameter or None expected)");
    CHECK(refusal([&] { assign_member(*root, "bias", module, true); }, TENON_ERROR_TYPE) ==
          "cannot assign 'Module' as parameter 'bias' (Parameter or None expected)");
    CHECK(refusal([&] { assign_member(*root, "mean", module, true); }, TENON_ERROR_TYPE) ==
          "cannot assign 'Module' as buffer 'mean' (Tensor or None expected)");
    CHECK(refusal([&] { assign_member(*root, "part", tensor, true); }, TENON_ERROR_TYPE) ==
          "cannot assign 'Tensor' as child module 'part' (Module or None expected)");
    CHECK(has(refusal([&] { assign_member(*root, "none", tensor, true); }, TENON_ERROR_VALUE),
              "Block has no parameter, buffer or child module 'none'"));
    assign_member(*root, "bias", tensor, true);
    REQUIRE(bias != nullptr);
    CHECK(bias == find_tensor(*root, "bias"));
    CHECK(bias->requires_grad());
    CHECK(names(*root, Walk::Parameters) == Names{"weight", "bias"});
    assign_member(*root, "part", module, false);
    CHECK(part == child.get());
    CHECK(has(refusal([&] { register_child(*child, "up", root.get()); }, TENON_ERROR_VALUE),
              "contains the module"));
    assign_member(*root, "part", {}, false);
    CHECK(part == nullptr);
    register_child(*child, "up", root.get());
    assign_member(*child, "up", {}, false);
    unbind_member(*root, "bias");
    assign_member(*root, "bias", {}, false);
    CHECK(find_tensor(*root, "bias") == nullptr);
    CHECK(bias->requires_grad());  // its own reference
    bias->release();
  }
}
