// The op call. The plain path is one screen: bind by mask, look at flags, run.
#include "core/dispatch/call/call.hpp"

#include <utility>

#include "core/base/error.hpp"
#include "core/base/stack.hpp"
#include "core/dispatch/call/kernel.hpp"
#include "core/dispatch/call/running_calls.hpp"
#include "core/dispatch/call/trace.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENON_ADDRESS_SANITIZER 1
#endif
#endif

namespace tenon::core {

constinit thread_local ThreadState thread_state;

namespace {

// The lengths of lists, and the flags of their tensors; false as below.
[[gnu::noinline]] bool gather_list_flags(const Implementation& implementation,
                                         const tenon_value* arguments, uint32_t& flags) {
  if (implementation.fixed_lists) {
    for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
      const int32_t length = implementation.schema.parameters[i].type.length;
      if (length > 0 && arguments[i].tag != TENON_VALUE_NONE &&
          arguments[i].length != static_cast<uint32_t>(length))
        return false;
    }
  }
  if (implementation.has_lists) {
    for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
      if (arguments[i].tag != TENON_VALUE_TENSOR_LIST) continue;
      for (uint32_t k = 0; k < arguments[i].length; ++k) {
        const Tensor* tensor = arguments[i].as.tensors[k];
        if (tensor == nullptr) [[unlikely]]
          return false;
        flags |= tensor->flags();
      }
    }
  }
  return true;
}

// What each operand carries that leaves the plain path, lists aside; false when an argument needs
// converting or refusing.
[[gnu::always_inline]] inline bool gather_operand_flags(const Implementation& implementation,
                                                        const tenon_value* arguments,
                                                        uint32_t& flags) {
  const uint32_t count = implementation.parameter_count;
  uint32_t tags = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t tag = arguments[i].tag;
    if ((implementation.accept[i] >> (tag & 31u) & 1u) == 0) [[unlikely]]
      return false;
    tags |= tag;
    if (tag == TENON_VALUE_TENSOR) flags |= arguments[i].as.tensor->flags();
  }
  // A forged tag passes as one that is less by 32.
  return tags <= 31u;
}

// All that a call of it carries.
bool gather_flags(const Implementation& implementation, const tenon_value* arguments,
                  uint32_t& flags) {
  flags |= implementation.call_flags.load(std::memory_order_relaxed) & ~kListsFlag;
  if (!gather_operand_flags(implementation, arguments, flags)) return false;
  return (implementation.call_flags.load(std::memory_order_relaxed) & kListsFlag) == 0 ||
         gather_list_flags(implementation, arguments, flags);
}

// ---- off the plain path ----

[[noreturn, gnu::cold]] void throw_inactive(const tenon_op* op) {
  if (const std::string* provider = op->withdrawn_by.load(std::memory_order_acquire)) {
    throw Error(TENON_ERROR_PLUGIN,
                "stale handle: op '{}' is provided by plugin '{}', which was unloaded; reload "
                "the plugin, which revalidates the handle, or discard it",
                op->name, *provider);
  }
  throw Error(TENON_ERROR_NOT_IMPLEMENTED,
              "op '{}' has no active implementation: its plugin was disabled or unloaded; run "
              "`tenon show {}` for details",
              op->name, op->name);
}

[[gnu::noinline, gnu::cold]] tenon_status fail_inactive(const tenon_op* op, tenon_error** error) {
  return guarded(error, [&] { throw_inactive(op); });
}

// Through the layers that its flags lead to.
tenon_status enter_layers(Call&& call) noexcept {
  call.flags |= kKernelFlag;
  return enter<LayerId::trace>(call);
}

// Binds, which converts what the implementation does not take as it is.
[[gnu::noinline]] tenon_status call_converted(const Implementation& implementation,
                                              const AsWritten& written, tenon_value* results,
                                              tenon_error** error) noexcept {
  BoundArguments bound;
  uint32_t flags = thread_state.call_flags;
  const tenon_status status = guarded(error, [&] {
    flags |= bind_call(implementation, written.positional, written.keywords, written.keyword_values,
                       bound);
  });
  if (status != TENON_OK) {
    add_error_context(error, implementation, status);
    if (tracing()) trace_error(implementation, status, error == nullptr ? nullptr : *error);
    return status;
  }
  return enter_layers({implementation, bound.values, results, error, flags, &written});
}

// A value that was just written field by field, as callers do: one load of all fields would wait until
// the stores are through.
[[gnu::always_inline]] inline void copy_by_field(const tenon_value& from, tenon_value& to) {
  to.tag = from.tag;
  to.length = from.length;
  to.as = from.as;
}

// In schema order, fewer than all or in need of converting: trailing parameters take their
// defaults, and those behind '*', which typed wrappers pass by position too, go by name.
[[gnu::noinline]] tenon_status call_completed(const Implementation& implementation,
                                              const AsWritten& written, tenon_value* results,
                                              tenon_error** error) noexcept {
  const auto given = static_cast<uint32_t>(written.positional.size());
  if (given < implementation.parameter_count &&
      given >= static_cast<uint32_t>(implementation.schema.required_count)) {
    tenon_value filled[kMaxParameters];
    for (uint32_t i = 0; i < given; ++i) copy_by_field(written.positional[i], filled[i]);
    for (uint32_t i = given; i < implementation.parameter_count; ++i)
      filled[i] = implementation.schema.parameters[i].default_value.value;
    uint32_t flags = thread_state.call_flags;
    if (gather_flags(implementation, filled, flags))
      return enter_layers({implementation, filled, results, error, flags, &written});
  }
  const OrderedArguments ordered(implementation, written.positional);
  return call_converted(
      implementation,
      {ordered.positional, ordered.keywords, ordered.keyword_values, written.filled}, results,
      error);
}

// One comparison; true as well before the thread has looked, and on stacks that are not its own.
[[gnu::always_inline]] inline bool stack_may_be_low() noexcept {
#if defined(__SANITIZE_ADDRESS__) || defined(TENON_ADDRESS_SANITIZER)
  const void* const here = __builtin_frame_address(0);  // the sanitizer keeps locals elsewhere
#else
  char local;  // in the caller's frame, without keeping a frame pointer
  const void* const here = &local;
#endif
  return reinterpret_cast<uintptr_t>(here) < thread_state.own.stack_limit;
}

// Refuses a call for which too little of the stack is left.
[[gnu::noinline, gnu::cold]] tenon_status check_stack(const tenon_op* op,
                                                      tenon_error** error) noexcept {
  join_running_calls();
  thread_state.own.stack_limit = stack_limit(kCallReserve);
  if (!stack_is_low(kCallReserve)) return TENON_OK;
  return guarded(error, [&] {
    Error refused(TENON_ERROR_RUNTIME, recursion_text({op->name}));
    refused.op = op->name;
    refused.chain.push_back(op->name);
    throw refused;
  });
}

// Its arguments fit, lists perhaps aside; its flags are not of a plain call.
template <bool kFilled>
[[gnu::noinline]] tenon_status call_with_flags(const Implementation& implementation,
                                               const tenon_value* arguments, tenon_value* results,
                                               tenon_error** error, uint32_t flags) noexcept {
  const AsWritten written{{arguments, implementation.parameter_count}, {}, {}, kFilled};
  if ((flags & kListsFlag) != 0) {
    flags &= ~kListsFlag;
    if (!gather_list_flags(implementation, arguments, flags)) [[unlikely]]
      return call_completed(implementation, written, results, error);
    if ((flags & kSpecialFlags) == 0) {
      tenon_context context{&implementation, arguments, results, error};
      return run_and_finish(context);
    }
  }
  return enter_layers(
      {implementation, arguments, results, error, flags, kFilled ? nullptr : &written});
}

// ---- the plain path ----

// Calls run(implementation) with the active one, which stays loaded until it returns.
template <class Run>
[[gnu::always_inline]] inline tenon_status with_implementation(const tenon_op* op,
                                                               tenon_error** error,
                                                               Run&& run) noexcept {
  if (stack_may_be_low()) [[unlikely]] {
    const tenon_status status = check_stack(op, error);
    if (status != TENON_OK) return status;
  }
  const RunningCall running;
  const Implementation* implementation = op->implementation.load(std::memory_order_acquire);
  if (implementation == nullptr) [[unlikely]]
    return fail_inactive(op, error);
  return run(*implementation);
}

template <bool kFilled>
[[gnu::always_inline]] inline tenon_status call_in_order(const tenon_op* op,
                                                         const tenon_value* arguments,
                                                         int64_t count, tenon_value* results,
                                                         tenon_error** error) noexcept {
  return with_implementation(op, error, [&](const Implementation& implementation) noexcept {
    const auto given = static_cast<uint32_t>(count);
    // In this order the other load is part of the instruction that joins them.
    uint32_t flags =
        implementation.call_flags.load(std::memory_order_relaxed) | thread_state.call_flags;
    if (given != implementation.parameter_count ||
        !gather_operand_flags(implementation, arguments, flags)) [[unlikely]]
      return call_completed(implementation, {{arguments, given}, {}, {}, kFilled}, results, error);
    if ((flags & (kSpecialFlags | kListsFlag)) != 0) [[unlikely]]
      return call_with_flags<kFilled>(implementation, arguments, results, error, flags);
    tenon_context context{&implementation, arguments, results, error};
    return run_and_finish(context);
  });
}

}  // namespace

tenon_status call_op(const tenon_op* op, const tenon_value* arguments, int64_t count,
                     tenon_value* results, tenon_error** error) noexcept {
  return call_in_order<false>(op, arguments, count, results, error);
}
tenon_status call_op_filled(const tenon_op* op, const tenon_value* arguments, int64_t count,
                            tenon_value* results, tenon_error** error) noexcept {
  return call_in_order<true>(op, arguments, count, results, error);
}

tenon_status call_op_keywords(const tenon_op* op, std::span<const tenon_value> positional,
                              std::span<const tenon_string> keywords,
                              std::span<const tenon_value> keyword_values, tenon_value* results,
                              tenon_error** error) noexcept {
  return with_implementation(op, error, [&](const Implementation& implementation) noexcept {
    return call_converted(implementation, {positional, keywords, keyword_values}, results, error);
  });
}

tenon_status redispatch(Call call) noexcept {
  const Implementation& implementation = call.implementation;
  const tenon_op* op = implementation.op;
  call.flags = thread_state.call_flags;
  call.context = nullptr;
  // A handler may have had the op's implementation changed, or have put in what does not fit.
  if (op->implementation.load(std::memory_order_acquire) != &implementation ||
      !gather_flags(implementation, call.arguments, call.flags))
    return call_op_filled(op, call.arguments, implementation.parameter_count, call.results,
                          call.error);
  // NOLINTNEXTLINE(performance-move-const-arg): for the type alone
  return enter_layers(std::move(call));
}

TensorRef call_tensor(const tenon_op* op, std::span<const tenon_value> arguments) {
  tenon_value results[8] = {};
  tenon_error* error = nullptr;
  const tenon_status status =
      call_op(op, arguments.data(), static_cast<int64_t>(arguments.size()), results, &error);
  if (status != TENON_OK) throw_status(status, error);
  if (results[0].tag != TENON_VALUE_TENSOR) {
    release_value(results[0]);
    throw Error(TENON_ERROR_TYPE, "op '{}' did not return a tensor where the runtime needs one",
                op->name);
  }
  return TensorRef::take(results[0].as.tensor);
}

// ---- binding ----

const Implementation& require_implementation(const tenon_op* op) {
  const Implementation* active = op->implementation.load(std::memory_order_acquire);
  if (active == nullptr) throw_inactive(op);
  return *active;
}

namespace {

// Why bound arguments do not fit after all.
[[noreturn, gnu::cold]] void throw_unfit(const Implementation& implementation,
                                         const tenon_value* arguments) {
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    if (arguments[i].tag != TENON_VALUE_TENSOR_LIST) continue;
    for (uint32_t k = 0; k < arguments[i].length; ++k) {
      if (arguments[i].as.tensors[k] != nullptr) continue;
      throw Error(
          TENON_ERROR_TYPE,
          "{}(): argument '{}': element {} is undefined; every tensor of the list must be defined",
          implementation.schema.short_name(), implementation.schema.parameters[i].name, k);
    }
  }
  throw Error(TENON_ERROR_INTERNAL, "binding left an argument that the schema does not take");
}

}  // namespace

uint32_t bind_call(const Implementation& implementation, std::span<const tenon_value> positional,
                   std::span<const tenon_string> keywords,
                   std::span<const tenon_value> keyword_values, BoundArguments& bound) {
  bind_arguments(implementation.schema, positional, keywords, keyword_values, bound);
  uint32_t flags = 0;
  if (!gather_flags(implementation, bound.values, flags)) throw_unfit(implementation, bound.values);
  return flags;
}

OrderedArguments::OrderedArguments(const Implementation& implementation,
                                   std::span<const tenon_value> values)
    : positional(values) {
  const auto most = static_cast<size_t>(implementation.schema.positional_count);
  // Too many arguments: leave them unconverted, binding reports the error.
  if (values.size() <= most || values.size() > implementation.parameter_count) return;
  positional = values.first(most);
  keyword_values = values.subspan(most);
  for (size_t i = 0; i < keyword_values.size(); ++i) {
    const std::string& name = implementation.schema.parameters[most + i].name;
    names_[i] = {name.data(), static_cast<int64_t>(name.size())};
  }
  keywords = {names_, keyword_values.size()};
}

}  // namespace tenon::core
