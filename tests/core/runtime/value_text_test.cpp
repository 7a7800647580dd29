// Values as they are printed.
#include "core/autograd/graph/history.hpp"
#include "core/runtime/runtime.hpp"
#include "tests/core/autograd/support.hpp"
#include "tests/core/nn/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("runtime/value_text") {
  TEST_CASE("plain values are printed in Python's words") {
    CHECK(value_text(tenon_value{}) == "None");
    CHECK(value_text(integer(2)) == "2");
    CHECK(value_text(number(0.4)) == "0.4");
    const std::vector<int64_t> numbers{1, 2};
    CHECK(value_text(int_list_value(numbers)) == "[1, 2]");
  }

  TEST_CASE("a tensor is printed with its data, and with what made it") {
    const TensorRef x = leaf({1}), y = floats({2, 3});
    CHECK(value_text(tensor_value(y.get())) == "tensor([2., 3.])");
    compute(*y, {x.get()}, {});
    CHECK(typed_text(y.get()) == "tensor([2., 3.], grad_fn=<RuleBackward0>)");
    CHECK(typed_text(x.get()) == "tensor([1.], requires_grad=True)");
  }

  TEST_CASE("a module is printed as its type and attributes, without its children") {
    const Types types;
    const ModuleRef module = types.make(), child = types.make();
    register_child(*module, "child", child.get());
    CHECK(module_text(*module) == "Block(width=2)");
  }
}
