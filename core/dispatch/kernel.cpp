// Runs of implementations off the plain path.
#include "core/dispatch/kernel.hpp"

#include <utility>

#include "core/base/error.hpp"
#include "core/dispatch/error_context.hpp"
#include "core/dispatch/operands.hpp"
#include "core/dispatch/result_check.hpp"
#include "core/dispatch/trace.hpp"
#include "core/dispatch/value.hpp"

namespace tenon::core {

namespace {

// A plain run of a Function may have set attributes that only it could read.
void drop_transient_context(tenon_context& context) noexcept {
  if (context.function != nullptr && context.function->transient) [[unlikely]]
    delete std::exchange(context.function, nullptr);
}

bool has_declined(const Call& call) {
  return call.implementation.may_decline && call.results[0].tag == TENON_VALUE_NOT_IMPLEMENTED;
}

// A recorded Function has seen other handles than the caller's: who records it updates aliasing.
bool finished_by_recording(const tenon_context& context) {
  return context.function != nullptr && !context.function->transient;
}

[[gnu::always_inline]] inline tenon_status run_as_prepared(const Call& call,
                                                           tenon_context& context) noexcept {
  if (!finished_by_recording(context)) return run_finished(call, context);
  const tenon_status status = run_unfinished(call, context);
  if (status != TENON_OK || !call.implementation.updates_aliasing) return status;
  return check_kernel(call, context, true);
}

[[gnu::noinline, gnu::cold]] tenon_status run_told(const Call& call,
                                                   tenon_context& context) noexcept {
  const Implementation& implementation = call.implementation;
  trace(trace_event::kernel, implementation,
        (implementation.composite ? "composite " : "kernel ") + implementation.schema.name,
        implementation.provider);
  const TraceDepth inside;
  return run_as_prepared(call, context);
}

}  // namespace

[[gnu::noinline, gnu::cold]] tenon_status fail_kernel(Call call, tenon_context& context,
                                                      tenon_status status) noexcept {
  drop_transient_context(context);
  release_results(call.implementation, call.results);
  // It may have changed some of what it was to change: what has saved the values before must not use
  // these.
  for_each_written(call.implementation, call.arguments, [&](const Tensor* tensor, uint32_t) {
    note_change(call.implementation, *tensor);
  });
  add_error_context(call.error, call.implementation, status);
  return status;
}

[[gnu::noinline]] tenon_status run_many(Call call, tenon_context& context) noexcept {
  const Implementation& implementation = call.implementation;
  for (uint32_t r = 0; r < implementation.result_count; ++r) call.results[r] = tenon_value{};
  const tenon_status status =
      implementation.run(implementation.self, &context, call.arguments, call.results, call.error);
  if (status != TENON_OK) [[unlikely]]
    return fail_kernel(call, context, status);
  for (uint32_t r = 0; r < implementation.result_count; ++r) {
    if (!has_tag(call.results[r], implementation.result_tags[r]))
      return check_kernel(call, context, false);
  }
  return TENON_OK;
}

[[gnu::noinline]] tenon_status check_kernel(Call call, tenon_context& context,
                                            bool aliases) noexcept {
  const Implementation& implementation = call.implementation;
  if (has_declined(call)) return TENON_OK;
  const tenon_status status = guarded(call.error, [&] {
    check_declared(implementation, aliases ? call.arguments : nullptr, call.results);
  });
  if (status == TENON_OK) return TENON_OK;
  discard_results(implementation, call.results);
  return fail_kernel(call, context, status);
}

[[gnu::noinline]] tenon_status finish_kernel(Call call, tenon_context& context) noexcept {
  const Implementation& implementation = call.implementation;
  drop_transient_context(context);
  if (has_declined(call)) return TENON_OK;
  if (implementation.updates_aliasing) {
    const tenon_status status = check_kernel(call, context, true);
    if (status != TENON_OK) return status;
    update_aliasing(implementation, call.arguments, call.results);
  }
  note_out(implementation, call.arguments);
  return TENON_OK;
}

tenon_status run_kernel(Call& call) noexcept {
  tenon_context own{&call.implementation, call.arguments, nullptr, nullptr, call.written};
  tenon_context& context = call.context == nullptr ? own : *call.context;
  if (tracing()) [[unlikely]]
    return run_told(call, context);
  return run_as_prepared(call, context);
}

}  // namespace tenon::core
