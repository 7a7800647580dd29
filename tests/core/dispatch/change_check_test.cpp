// Calls that would change what must stay as it is.
#include "core/dispatch/call/aliasing.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

int runs = 0;
tenon_status change(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                    tenon_error**) {
  ++runs;
  results[0] = tensor_value(TensorRef(arguments[0].as.tensor).give());
  return TENON_OK;
}
tenon_status copy_first(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                        tenon_error**) {
  ++runs;
  results[0] = tensor_value(contiguous_copy(*arguments[0].as.tensor).give());
  return TENON_OK;
}

struct Ops {
  Ops() {
    const tenon_op_descriptor ops[] = {
        descriptor("t.change_(Tensor(a!) x, Tensor y) -> Tensor(a!)", change),
        descriptor("t.read(Tensor x, Tensor y) -> Tensor", copy_first)};
    const tenon_op_descriptor* pointers[] = {&ops[0], &ops[1]};
    registry.commit("test", pointers);
  }
  // The kind of what is refused; TENON_OK where nothing is.
  tenon_status operator()(const char* name, const TensorRef& x, const TensorRef& y,
                          std::string* message = nullptr) {
    Outcome outcome;
    runs = 0;
    call(outcome, registry.find(name), {tensor_value(x.get()), tensor_value(y.get())});
    CHECK(runs == (outcome.status == TENON_OK ? 1 : 0));
    if (message != nullptr) *message = outcome.message;
    return outcome.status;
  }
  Registry registry;
};

}  // namespace

TEST_SUITE("dispatch/change_check") {
  TEST_CASE("a read-only tensor may be read, not changed, and the kernel does not run") {
    Ops ops;
    const TensorRef x = floats({1}), plain = floats({2});
    x->view.flags |= TENON_TENSOR_READ_ONLY;
    std::string message;
    CHECK(ops("t.change_", x, plain, &message) == TENON_ERROR_RUNTIME);
    CHECK(has(message, "change_(): an operand that it changes is read-only"));
    CHECK(ops("t.change_", plain, x) == TENON_OK);
    CHECK(ops("t.read", x, x) == TENON_OK);
    CHECK(x->version() == 0);
  }

  TEST_CASE("an inference tensor is changed in inference mode alone") {
    Ops ops;
    const TensorRef x = floats({1}), plain = floats({2});
    x->view.flags |= TENON_TENSOR_INFERENCE;
    CHECK(ops("t.change_", x, plain) == TENON_ERROR_INPLACE);
    CHECK(ops("t.change_", plain, x) == TENON_OK);
    set_inference_mode(true);
    const tenon_status inside = ops("t.change_", x, plain);
    set_inference_mode(false);
    CHECK(inside == TENON_OK);
  }
}
