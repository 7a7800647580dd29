// Calls of modules.
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/table/op.hpp"
#include "core/nn/module.hpp"
#include "tests/core/nn/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("nn/module_call") {
  TEST_CASE("a module is called with its state, and its failure passes on") {
    const Types types;
    const ModuleRef module = types.make();
    const TensorRef x = floats({5});
    const tenon_value inputs[] = {tensor_value(x.get())};
    tenon_value results[kMaxResults];
    call_module(*module, inputs, {}, {}, results);
    CHECK(results[0].as.tensor == x.get());
    release_value(results[0]);
  }

  TEST_CASE("arguments are bound to the forward schema, by keyword too, in Python's words") {
    const Types types;
    const ModuleRef module = types.make();
    const TensorRef x = floats({5});
    const tenon_value inputs[] = {tensor_value(x.get()), tensor_value(x.get())};
    tenon_value results[kMaxResults];
    const auto refused = [&](std::span<const tenon_value> given) {
      return refusal([&] { call_module(*module, given, {}, {}, results); }, TENON_ERROR_TYPE);
    };
    CHECK(refused({}) == "Block.forward() missing 1 required positional argument: 'input'");
    CHECK(refused(inputs) == "Block.forward() takes 1 positional argument but 2 were given");
    const tenon_value seven[] = {integer(7)};
    CHECK(refused(seven) ==
          "Block.forward(): argument 'input' (position 1) must be Tensor, not int");
    const tenon_string name[] = {{"input", 5}}, other[] = {{"inptu", 5}};
    const tenon_value value[] = {tensor_value(x.get())};
    call_module(*module, {}, name, value, results);
    CHECK(results[0].as.tensor == x.get());
    release_value(results[0]);
    CHECK(refusal([&] { call_module(*module, {}, other, value, results); }, TENON_ERROR_TYPE) ==
          "Block.forward() got an unexpected keyword argument 'inptu' (did you mean 'input'?)");
  }

  TEST_CASE("results are what the schema declares") {
    tenon_module_descriptor made = block("Liar()");
    made.forward = [](void*, void*, tenon_module*, const tenon_value*, tenon_value* results,
                      tenon_error**) -> tenon_status {
      results[0] = integer(3);
      return TENON_OK;
    };
    made.create = [](void*, tenon_module*, const tenon_value*, void**, tenon_error**) {
      return tenon_status{TENON_OK};
    };
    ModuleTable table;
    const tenon_module_descriptor* one[] = {&made};
    table.commit(table.prepare("p", one));
    const ModuleRef module = create_module(*table.find("Liar"), {}, {}, {});
    const TensorRef x = floats({5});
    const tenon_value inputs[] = {tensor_value(x.get())};
    tenon_value results[kMaxResults];
    CHECK(refusal([&] { call_module(*module, inputs, {}, {}, results); }, TENON_ERROR_TYPE) ==
          "Liar.forward(): result 0 is int, but the schema declares Tensor; fix the module in "
          "plugin 'p'");
  }

  TEST_CASE("an instance of a type without a forward schema is given its own, once and valid") {
    tenon_module_descriptor made = block("Free(int width=2)");
    made.forward_schema = nullptr;
    made.flags = TENON_MODULE_OWN_FORWARD;
    ModuleTable table;
    const tenon_module_descriptor* one[] = {&made};
    table.commit(table.prepare("p", one));
    const ModuleRef module = create_module(*table.find("Free"), {}, {}, {});
    const TensorRef x = floats({5}), y = floats({6});
    const tenon_value inputs[] = {tensor_value(x.get()), tensor_value(y.get())};
    tenon_value results[kMaxResults];
    CHECK(has(refusal([&] { call_module(*module, inputs, {}, {}, results); }, TENON_ERROR_TYPE),
              "Free has no forward schema"));
    refusal([&] { set_forward_schema(*module, "forward(Tensor"); }, TENON_ERROR_VALUE);
    set_forward_schema(*module, "forward(Tensor a, Tensor b, int n=1) -> Tensor");
    call_module(*module, inputs, {}, {}, results);
    CHECK(results[0].as.tensor == x.get());
    release_value(results[0]);
    const Types types;
    const ModuleRef fixed = types.make();
    CHECK(has(refusal([&] { set_forward_schema(*fixed, "forward() -> ()"); }, TENON_ERROR_TYPE),
              "Block has the forward schema of its type"));
  }
}
