// Runs of implementations off the plain path.
#include "core/dispatch/call/kernel.hpp"

#include <utility>

#include "core/base/error.hpp"
#include "core/dispatch/call/error_context.hpp"
#include "core/dispatch/call/explanation.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/dispatch/call/result_check.hpp"
#include "core/dispatch/call/trace.hpp"

namespace tenon::core {

namespace {

// A plain run of a Function may have set attributes that only it could read.
void drop_transient_context(tenon_context& context) noexcept {
  if (context.function != nullptr && context.function->transient) [[unlikely]]
    delete std::exchange(context.function, nullptr);
}

bool has_declined(const tenon_context& context) {
  return context.implementation->may_decline &&
         context.results[0].tag == TENON_VALUE_NOT_IMPLEMENTED;
}

// A recorded Function has seen other handles than the caller's: who records it updates aliasing.
bool finished_by_recording(const tenon_context& context) {
  return context.function != nullptr && !context.function->transient;
}

[[gnu::always_inline]] inline tenon_status run_and_finish_unless_recorded(
    tenon_context& context) noexcept {
  if (!finished_by_recording(context)) return run_and_finish(context);
  const tenon_status status = run_implementation(context);
  if (status != TENON_OK || !context.implementation->updates_aliasing) return status;
  return check_kernel(context, true);
}

[[gnu::noinline, gnu::cold]] tenon_status run_traced(tenon_context& context) noexcept {
  const Implementation& implementation = *context.implementation;
  trace(trace_event::kernel, implementation,
        (implementation.composite ? "composite " : "kernel ") + implementation.schema.name,
        implementation.provider);
  const TraceDepth inside;
  return run_and_finish_unless_recorded(context);
}

}  // namespace

[[gnu::noinline, gnu::cold]] tenon_status fail_kernel(tenon_context& context,
                                                      tenon_status status) noexcept {
  drop_transient_context(context);
  const Implementation& implementation = *context.implementation;
  release_results(implementation, context.results);
  // It may have changed some of what it was to change: what has saved the values before must not
  // use these.
  for_each_written(implementation, context.arguments,
                   [&](const Tensor* tensor, uint32_t) { note_change(implementation, *tensor); });
  add_error_context(context.error, implementation, status);
  return status;
}

[[gnu::noinline]] tenon_status run_many(tenon_context& context) noexcept {
  const Implementation& implementation = *context.implementation;
  tenon_value* const results = context.results;
  for (uint32_t r = 0; r < implementation.result_count; ++r) results[r] = tenon_value{};
  const tenon_status status =
      implementation.run(implementation.self, &context, context.arguments, results, context.error);
  if (status != TENON_OK) [[unlikely]]
    return fail_kernel(context, status);
  for (uint32_t r = 0; r < implementation.result_count; ++r) {
    if (!has_tag(results[r], implementation.result_tags[r])) return check_kernel(context, false);
  }
  return TENON_OK;
}

[[gnu::noinline]] tenon_status check_kernel(tenon_context& context, bool aliases) noexcept {
  if (has_declined(context)) return TENON_OK;
  const Implementation& implementation = *context.implementation;
  const tenon_status status = guarded(context.error, [&] {
    check_declared(implementation, aliases ? context.arguments : nullptr, context.results);
  });
  if (status == TENON_OK) return TENON_OK;
  discard_results(implementation, context.results);
  return fail_kernel(context, status);
}

[[gnu::noinline]] tenon_status finish_kernel(tenon_context& context) noexcept {
  const Implementation& implementation = *context.implementation;
  drop_transient_context(context);
  if (has_declined(context)) return TENON_OK;
  if (implementation.updates_aliasing) {
    const tenon_status status = check_kernel(context, true);
    if (status != TENON_OK) return status;
    update_aliasing(implementation, context.arguments, context.results);
  }
  note_out(implementation, context.arguments);
  return TENON_OK;
}

tenon_status run_kernel(Call& call) noexcept {
  tenon_context own{
      .implementation = &call.implementation, .arguments = call.arguments, .written = call.written};
  tenon_context& context = call.context == nullptr ? own : *call.context;
  context.results = call.results;
  context.error = call.error;
  if (tracing()) [[unlikely]]
    return run_traced(context);
  return run_and_finish_unless_recorded(context);
}

void explain_kernel(Explanation& explanation) {
  if (explanation.runs_own() && explanation.implementation->descriptor.elementwise != nullptr) {
    explanation.kernel =
        higher_areas.choose_kernel(*explanation.implementation, explanation.arguments);
  }
}

}  // namespace tenon::core
