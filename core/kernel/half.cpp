// The layer of calls on f16 and bf16: kernels have no loops for them, so that they run in f32.
//
// A call has such operands converted by op `to`, which is recorded and carries tangents like any
// other, runs, and has its f32 results converted to what its floating operands have in common. So
// the op, its rules and what they save see f32, and gradients arrive in the operands' dtype. What a
// call changes in place is written back; a dtype among its arguments is that of its results;
// integers and bools are left alone. Implementation::takes_half exempts ops.

#include <vector>

#include "core/base/error.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/error_context.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/dispatch/call/result_check.hpp"
#include "core/dispatch/table/core_ops.hpp"
#include "core/dispatch/types/modes.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

// The common dtype of the floating operands, `out` aside; none without one.
tenon_dtype common_floating(const Implementation& implementation, const tenon_value* arguments) {
  tenon_dtype common = TENON_DTYPE_NONE;
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    if (static_cast<int32_t>(i) == implementation.out_parameter) continue;
    for_each_tensor(arguments[i], [&](const Tensor* tensor) {
      if (dtype_floating(tensor->view.dtype)) common = promote_dtypes(common, tensor->view.dtype);
    });
  }
  return common;
}

class HalfCall {
 public:
  explicit HalfCall(const Call& call)
      : call_(call), result_dtype_(common_floating(call.implementation, call.arguments)) {}

  void convert_operands() {
    const ModesOffGuard modes_off;
    const Implementation& implementation = call_.implementation;
    replaced_.set(implementation, call_.arguments, [&](Tensor* operand, uint32_t parameter) {
      return converted(operand, is_written(implementation, parameter));
    });
    for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
      tenon_value& value = replaced_.values()[i];
      if (value.tag != TENON_VALUE_DTYPE) continue;
      result_dtype_ = static_cast<tenon_dtype>(value.as.integer);
      value.as.integer = compute_dtype(result_dtype_);
    }
  }

  tenon_status run() noexcept {
    Call inner = call_;
    inner.arguments = replaced_.values();
    inner.written = Writing();
    inner.flags &= kThreadFlags | kKernelFlag;
    for_each_operand(call_.implementation, replaced_.values(),
                     [&](const Tensor* tensor) { inner.flags |= tensor->flags(); });
    return next<LayerId::half>(inner);
  }

  void convert_results() {
    const ModesOffGuard modes_off;
    for (const Pair& pair : pairs_) {
      if (pair.written) core_ops::copy(*pair.operand, *pair.copy);
    }
    for_each_result(call_.implementation, call_.results,
                    [this](Tensor*& place) { convert_result(place); });
  }

 private:
  struct Pair {
    Tensor* operand;
    TensorRef copy;
    bool written;
  };

  // One operand in two places stays one tensor.
  Tensor* converted(Tensor* operand, bool written) {
    if (!operand->has_flag(TENON_TENSOR_HALF) || operand->has_flag(TENON_TENSOR_SHAPE_ONLY))
      return operand;
    for (Pair& pair : pairs_) {
      if (pair.operand != operand) continue;
      pair.written |= written;
      return pair.copy.get();
    }
    pairs_.push_back({operand, core_ops::to(*operand, TENON_F32), written});
    return pairs_.back().copy.get();
  }

  void convert_result(Tensor*& place) {
    if (place == nullptr) return;
    TensorRef result;
    for (const Pair& pair : pairs_) {
      if (pair.copy.get() == place) result = TensorRef(pair.operand);
    }
    if (!result && place->view.dtype == TENON_F32 && dtype_half(result_dtype_))
      result = core_ops::to(*place, result_dtype_);
    if (result) put(place, std::move(result));
  }

  const Call& call_;
  tenon_dtype result_dtype_;
  std::vector<Pair> pairs_;
  ReplacedOperands replaced_;
};

}  // namespace

tenon_status run_half(Call& call) noexcept {
  const Implementation& implementation = call.implementation;
  if (implementation.takes_half || implementation.may_decline) return next<LayerId::half>(call);
  tenon_status run_status = TENON_OK;
  bool ran = false;
  const tenon_status status = guarded(call.error, [&] {
    HalfCall converted(call);
    converted.convert_operands();
    run_status = converted.run();
    if (run_status != TENON_OK) return;
    ran = true;
    converted.convert_results();
  });
  if (run_status != TENON_OK) return run_status;
  if (status != TENON_OK) {
    if (ran) release_results(implementation, call.results);
    add_error_context(call.error, implementation, status);
  }
  return status;
}

}  // namespace tenon::core
