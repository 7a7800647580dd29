// The layer that refuses to change what must stay as it is, and to read stand-ins.
#include "core/base/error.hpp"
#include "core/dispatch/call/aliasing.hpp"
#include "core/dispatch/call/explanation.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/operands.hpp"

namespace tenon::core {

namespace {

// Whether an operand that the call changes, `out` included, carries the flag.
bool changes_flagged(const Call& call, uint32_t flag) {
  bool found = false;
  if ((call.flags & flag) == 0) return found;
  for_each_written(call.implementation, call.arguments,
                   [&](const Tensor* tensor, uint32_t) { found |= tensor->has_flag(flag); });
  return found;
}

// Stand-ins, which are read-only and have no data, are for modes that handle every call.
void refuse_stand_ins(const Call& call) {
  constexpr uint32_t both = TENON_TENSOR_READ_ONLY | TENON_TENSOR_SHAPE_ONLY;
  if ((call.flags & both) != both) return;
  for_each_operand(call.implementation, call.arguments, [&](const Tensor* tensor) {
    if ((tensor->view.flags & both) == both)
      throw Error(TENON_ERROR_TYPE, "{}(): an operand stands in for a tensor, and has no data",
                  call.implementation.schema.short_name());
  });
}

// Throws RuntimeError or InplaceError when the call may not change what it changes.
void check_changes(const Call& call) {
  const bool read_only = changes_flagged(call, TENON_TENSOR_READ_ONLY);
  if (!read_only && (thread_state.inference || !changes_flagged(call, TENON_TENSOR_INFERENCE)))
    return;
  throw Error(read_only ? TENON_ERROR_RUNTIME : TENON_ERROR_INPLACE, "{}(): {}",
              call.implementation.schema.short_name(),
              read_only ? "an operand that it changes is read-only" : kInferenceChange);
}

}  // namespace

tenon_status run_checks(Call& call) noexcept {
  const tenon_status status = guarded(call.error, [&] {
    refuse_stand_ins(call);
    check_changes(call);
  });
  return status == TENON_OK ? next<LayerId::checks>(call) : status;
}

void explain_checks(Explanation& explanation) {
  if (explanation.runs_own()) check_changes(explanation.call());
}

}  // namespace tenon::core
