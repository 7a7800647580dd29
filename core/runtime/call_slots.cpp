// Service calls: prepared calls, and what makes them stale.
#include "core/dispatch/call/prepared_call.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/call/trace.hpp"
#include "core/nn/module.hpp"
#include "core/runtime/slots.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

constinit const tenon_calls_service calls_service{
    .head = {},
    .prepare = slot([](const tenon_op* op, const tenon_value* arguments, int64_t count) {
      return prepare_call(&checked(op, "the op"), span_of(arguments, count)).release();
    }),
    .release = [](tenon_prepared_call* call) -> void { delete call; },
    .run =
        [](const tenon_prepared_call* call, const tenon_value* arguments, tenon_value* results,
           tenon_error** error) { return run_prepared(*call, arguments, results, nullptr, error); },
    .provider = [](const tenon_prepared_call* call) { return call->provider.c_str(); },
    .writes_into = [](const tenon_prepared_call* call) -> int32_t {
      return call->writes_into ? 1 : 0;
    },
    .run_into =
        [](const tenon_prepared_call* call, const tenon_value* arguments, tenon_tensor* result,
           tenon_error** error) { return run_prepared(*call, arguments, nullptr, result, error); },
    .ops_generation = []() -> uint64_t { return ops_generation.load(std::memory_order_acquire); },
    .modules_generation = []() -> uint64_t {
      return modules_generation.load(std::memory_order_acquire);
    },
    .watched = []() -> int32_t {
      return thread_state.call_flags != 0 || thread_state.dual_level != nullptr ||
                     process_is_traced()
                 ? 1
                 : 0;
    },
    .stand_in = slot([](const tenon_tensor* tensor) {
      require_not_null(tensor, "the tensor");
      TensorRef made = make_alias(*make_shape_only(*tensor), tensor->shape(), tensor->strides(), 0);
      made->view.flags |= TENON_TENSOR_READ_ONLY;
      return made;
    }),
    .run_placed =
        [](const tenon_prepared_call* call, const tenon_value* arguments, tenon_tensor** place,
           tenon_value* results, tenon_error** error) {
          Tensor* const outer = creation.set_place(*place);
          const tenon_status status = run_prepared(*call, arguments, results, nullptr, error);
          *place = creation.set_place(outer);
          return status;
        },
    .hold = slot([](tenon_prepared_call* call) { hold_prepared(checked(call, "the call")); }),
};

}  // namespace tenon::core
