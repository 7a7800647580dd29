// Calls whose operands, or the bases of these, may be tracked.
#pragma once

#include "core/dispatch/call/layer.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

// Runs and records a call of the common kind, see Implementation::fast_record.
tenon_status record_fast(Call& call) noexcept;
// Completes the flags of the operands by those of their bases, and returns whether the call is
// recorded or carries tangents. False for composites: the ops that they call are.
bool needs_autograd(Call& call) noexcept;
// Runs any other call, and records it where it has to be.
tenon_status run_tracked(Call& call) noexcept;
// Makes another handle of a result that is one of the operands, unchanged, before it gets a
// history.
void separate_from_inputs(const Implementation& implementation, const tenon_value* arguments,
                          Tensor** place);

// ---- refusals, before anything runs ----

// Throws for `out`, and for changes in place whose history would be lost.
void check_recordable(const Implementation& implementation, const tenon_value* arguments);
// Throws the NotImplementedError of an op without a backward.
[[noreturn, gnu::cold]] void fail_not_implemented(const Implementation& implementation);

inline bool differentiable_dtype(const Tensor* tensor) {
  return tensor != nullptr && dtype_differentiable(tensor->view.dtype);
}

}  // namespace tenon::core
