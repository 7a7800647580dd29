// The last layer: runs the implementation, checks what it gave, and keeps versions and view bases.
#pragma once

#include "core/dispatch/call/aliasing.hpp"
#include "core/dispatch/call/context.hpp"
#include "core/dispatch/call/layer.hpp"

namespace tenon::core {

// ---- off the plain path ----

// A run that has failed: frees what it left. Gives the status.
tenon_status fail_kernel(tenon_context& context, tenon_status status) noexcept;
// No result, or more than one.
tenon_status run_many(tenon_context& context) noexcept;
// Checks that one comparison of tags does not make. With `aliases`: also of shared memory.
tenon_status check_kernel(tenon_context& context, bool aliases) noexcept;
// Bookkeeping of AfterRun::other.
tenon_status finish_kernel(tenon_context& context) noexcept;

// The comparison that most results need; the others are looked at one by one.
[[gnu::always_inline]] inline bool has_tag(const tenon_value& result, uint8_t tag) {
  if (result.tag != tag) [[unlikely]]
    return false;
  return result.as.pointer != nullptr;
}

// Runs the implementation; aliasing is as it was before. A run that fails halfway leaves what it
// has given; one that forgets a result gives none.
[[gnu::always_inline]] inline tenon_status run_implementation(tenon_context& context) noexcept {
  const Implementation& implementation = *context.implementation;
  if (implementation.result_count != 1) [[unlikely]]
    return run_many(context);
  context.results[0] = tenon_value{};
  const tenon_status status = implementation.run(implementation.self, &context, context.arguments,
                                                 context.results, context.error);
  if (status != TENON_OK) [[unlikely]]
    return fail_kernel(context, status);
  if (!has_tag(context.results[0], context.implementation->result_tag)) [[unlikely]]
    return check_kernel(context, false);
  return TENON_OK;
}

[[gnu::always_inline]] inline tenon_status run_and_finish(tenon_context& context) noexcept {
  const tenon_status status = run_implementation(context);
  if (status != TENON_OK) [[unlikely]]
    return status;
  const Implementation& implementation = *context.implementation;
  const AfterRun after = implementation.after_run;
  if (after == AfterRun::nothing) [[likely]]
    return TENON_OK;
  const tenon_value* const arguments = context.arguments;
  if (after == AfterRun::out) {
    note_out(implementation, arguments);
    return TENON_OK;
  }
  if (after == AfterRun::view) {
    const tenon_value& result = context.results[0];
    Tensor* input = arguments[implementation.viewed_parameter].as.tensor;
    Tensor* view = result.as.tensor;
    if (result.tag == TENON_VALUE_TENSOR && view->storage == input->storage) [[likely]] {
      if (view != input && view->view_base == nullptr) set_view_base(*view, *input);
      return TENON_OK;
    }
  } else if (after == AfterRun::changed) {
    Tensor* changed = arguments[implementation.returned_parameter].as.tensor;
    if (context.results[0].as.tensor == changed) [[likely]] {
      note_change(implementation, *changed);
      return TENON_OK;
    }
  }
  return finish_kernel(context);
}

}  // namespace tenon::core
