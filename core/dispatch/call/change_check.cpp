// The layer that refuses to change what must stay as it is.
#include "core/dispatch/call/change_check.hpp"

#include <string>

#include "core/base/error.hpp"
#include "core/dispatch/call/explanation.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/operands.hpp"

namespace tenon::core {

namespace {

// Whether an operand that the call changes, `out` included, carries the flag.
bool changes_flagged(const Call& call, uint32_t flag) {
  bool found = false;
  for_each_written(call.implementation, call.arguments,
                   [&](const Tensor* tensor, uint32_t) { found |= tensor->has_flag(flag); });
  return found;
}

// Why the call may not change what it changes; null when it may.
struct ForbiddenChange {
  tenon_status kind;
  const char* why;
};
const ForbiddenChange* forbidden_change(const Call& call) {
  static constexpr ForbiddenChange read_only{TENON_ERROR_RUNTIME,
                                             "an operand that it changes is read-only"};
  static constexpr ForbiddenChange inference{TENON_ERROR_INPLACE, kInferenceChange};
  if ((call.flags & TENON_TENSOR_READ_ONLY) != 0 && changes_flagged(call, TENON_TENSOR_READ_ONLY))
    return &read_only;
  if ((call.flags & TENON_TENSOR_INFERENCE) != 0 && !thread_state.inference &&
      changes_flagged(call, TENON_TENSOR_INFERENCE))
    return &inference;
  return nullptr;
}

// Throws RuntimeError or InplaceError when the call changes such an operand.
void check_changes(const Call& call) {
  if (const ForbiddenChange* change = forbidden_change(call)) {
    throw Error(change->kind, "{}(): {}", call.implementation.schema.short_name(), change->why);
  }
}

}  // namespace

tenon_status run_checks(Call& call) noexcept {
  if (forbidden_change(call) != nullptr) [[unlikely]]
    return guarded(call.error, [&] { check_changes(call); });
  return next<LayerId::checks>(call);
}

void explain_checks(Explanation& explanation) {
  if (explanation.runs_own()) check_changes(explanation.call());
}

}  // namespace tenon::core
