// The last layer: runs the implementation, checks what it gave, and keeps versions and view bases.
#pragma once

#include "core/dispatch/aliasing.hpp"
#include "core/dispatch/context.hpp"
#include "core/dispatch/layer.hpp"

namespace tenon::core {

// ---- off the plain path ----

// A run that has failed: frees what it left. Gives the status.
tenon_status fail_kernel(Call call, tenon_context& context, tenon_status status) noexcept;
// More or fewer results than one.
tenon_status run_many(Call call, tenon_context& context) noexcept;
// What one comparison of tags did not show. With `aliases`: also what results share memory with.
tenon_status check_kernel(Call call, tenon_context& context, bool aliases) noexcept;
// What AfterRun::other stands for.
tenon_status finish_kernel(Call call, tenon_context& context) noexcept;

// The comparison that most results need; the others are looked at one by one.
[[gnu::always_inline]] inline bool has_tag(const tenon_value& result, uint8_t tag) {
  return result.tag == tag && result.as.pointer != nullptr;
}

// Runs the implementation; aliasing is as it was before. A run that fails halfway leaves what it
// has given; one that forgets a result gives none.
[[gnu::always_inline]] inline tenon_status run_unfinished(const Call& call,
                                                          tenon_context& context) noexcept {
  const Implementation& implementation = call.implementation;
  if (implementation.result_count != 1) [[unlikely]]
    return run_many(call, context);
  call.results[0] = tenon_value{};
  const tenon_status status =
      implementation.run(implementation.self, &context, call.arguments, call.results, call.error);
  if (status != TENON_OK) [[unlikely]]
    return fail_kernel(call, context, status);
  if (!has_tag(call.results[0], implementation.result_tag)) [[unlikely]]
    return check_kernel(call, context, false);
  return TENON_OK;
}

[[gnu::always_inline]] inline tenon_status run_finished(const Call& call,
                                                        tenon_context& context) noexcept {
  const tenon_status status = run_unfinished(call, context);
  if (status != TENON_OK) [[unlikely]]
    return status;
  const Implementation& implementation = call.implementation;
  switch (implementation.after_run) {
    case AfterRun::nothing:
      return TENON_OK;
    case AfterRun::out:
      note_out(implementation, call.arguments);
      return TENON_OK;
    case AfterRun::view: {
      Tensor* input = call.arguments[implementation.viewed_parameter].as.tensor;
      Tensor* view = call.results[0].as.tensor;
      if (call.results[0].tag != TENON_VALUE_TENSOR || view->storage != input->storage) [[unlikely]]
        break;
      if (view != input && view->view_base == nullptr) set_view_base(*view, *input);
      return TENON_OK;
    }
    case AfterRun::changed: {
      Tensor* changed = call.arguments[implementation.returned_parameter].as.tensor;
      if (call.results[0].as.tensor != changed) [[unlikely]]
        break;
      note_change(implementation, *changed);
      return TENON_OK;
    }
    case AfterRun::other:
      break;
  }
  return finish_kernel(call, context);
}

}  // namespace tenon::core
