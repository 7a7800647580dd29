// The op call: the one way from a handle and arguments to results. The plain path comes first, and
// is one screen: look at the stack, note that a call runs, look at the operands' tags and flags,
// run.
#include "core/dispatch/call/call.hpp"

#include <utility>

#include "core/base/error.hpp"
#include "core/base/stack.hpp"
#include "core/dispatch/binding/bound_call.hpp"
#include "core/dispatch/call/kernel.hpp"
#include "core/dispatch/call/prepared_call.hpp"
#include "core/dispatch/call/running_calls.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENON_ADDRESS_SANITIZER 1
#endif
#endif

namespace tenon::core {

constinit thread_local ThreadState thread_state;

namespace {

// ---- off the plain path, see below ----

bool stack_may_be_low() noexcept;
tenon_status check_stack(const tenon_op* op, tenon_error** error) noexcept;
tenon_status fail_inactive(const tenon_op* op, tenon_error** error) noexcept;
tenon_status refuse_prepared(const tenon_prepared_call& prepared, bool stale,
                             tenon_error** error) noexcept;
template <uint32_t kSpelling>
tenon_status call_with_flags(const Implementation& implementation, const tenon_value* arguments,
                             tenon_value* results, tenon_error** error, uint32_t flags) noexcept;

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

template <uint32_t kSpelling>
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
      return call_completed(implementation, {{arguments, given}, {}, {}, kSpelling}, results,
                            error);
    if ((flags & (kSpecialFlags | kListsFlag)) != 0) [[unlikely]]
      return call_with_flags<kSpelling>(implementation, arguments, results, error, flags);
    tenon_context context{&implementation, arguments, results, error};
    return run_and_finish(context);
  });
}

// Whether the call leaves no node whatever its operands are: then it need not look at the bases of
// views. A Function gives its input another handle.
[[gnu::always_inline]] inline bool changes_no_history(const Implementation& implementation) {
  return !records() && thread_state.dual_level == nullptr && !implementation.mutates &&
         (implementation.flags & TENON_OP_FUNCTION) == 0;
}

}  // namespace

tenon_status call_op(const tenon_op* op, const tenon_value* arguments, int64_t count,
                     tenon_value* results, tenon_error** error) noexcept {
  return call_in_order<TENON_SPELLING_HANDLE>(op, arguments, count, results, error);
}
tenon_status call_op_filled(const tenon_op* op, const tenon_value* arguments, int64_t count,
                            tenon_value* results, tenon_error** error) noexcept {
  return call_in_order<TENON_SPELLING_FUNCTION>(op, arguments, count, results, error);
}
tenon_status call_op_method(const tenon_op* op, const tenon_value* arguments, int64_t count,
                            tenon_value* results, tenon_error** error) noexcept {
  return call_in_order<TENON_SPELLING_METHOD>(op, arguments, count, results, error);
}
tenon_status call_op_operator(const tenon_op* op, const tenon_value* arguments, int64_t count,
                              tenon_value* results, tenon_error** error) noexcept {
  return call_in_order<TENON_SPELLING_OPERATOR>(op, arguments, count, results, error);
}

tenon_status run_prepared(const tenon_prepared_call& prepared, const tenon_value* arguments,
                          tenon_value* results, Tensor* into, tenon_error** error) noexcept {
  if (stack_may_be_low()) [[unlikely]] {
    const tenon_status status = check_stack(prepared.op, error);
    if (status != TENON_OK) return status;
  }
  const RunningCall running;
  if (ops_generation.load(std::memory_order_acquire) != prepared.generation && !prepared.held)
      [[unlikely]]
    return refuse_prepared(prepared, true, error);
  const Implementation& implementation = *prepared.implementation;
  uint32_t flags = (implementation.call_flags.load(std::memory_order_relaxed) & ~kProviderFlag) |
                   thread_state.call_flags;
  if (!gather_operand_flags(implementation, arguments, flags)) [[unlikely]]
    return refuse_prepared(prepared, false, error);
  if (changes_no_history(implementation)) flags &= ~kAutogradFlags;
  const bool plain = (flags & (kSpecialFlags | kListsFlag)) == 0;
  if (into != nullptr) {
    return plain && prepared.writes_into
               ? higher_areas.run_elementwise_into(implementation, arguments, *into, error)
               : refuse_prepared(prepared, false, error);
  }
  if (!plain) [[unlikely]]
    return call_with_flags<TENON_SPELLING_FUNCTION>(implementation, arguments, results, error,
                                                    flags);
  tenon_context context{&implementation, arguments, results, error};
  return run_and_finish(context);
}

// ---- off the plain path ----

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

namespace {

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

[[noreturn, gnu::cold]] void throw_inactive(const tenon_op* op) {
  if (const std::string* provider = op->withdrawn_by.load(std::memory_order_acquire)) {
    throw Error(TENON_ERROR_PLUGIN,
                "stale handle: op '{}' is provided by plugin '{}', which was unloaded; reload the "
                "plugin, which revalidates the handle, or discard it",
                op->name, *provider);
  }
  throw Error(TENON_ERROR_NOT_IMPLEMENTED,
              "op '{}' has no active implementation: its plugin was disabled or unloaded; run "
              "`tenon show {}` for details",
              op->name, op->name);
}

[[gnu::noinline, gnu::cold]] tenon_status fail_inactive(const tenon_op* op,
                                                        tenon_error** error) noexcept {
  return guarded(error, [&] { throw_inactive(op); });
}

[[gnu::noinline, gnu::cold]] tenon_status refuse_prepared(const tenon_prepared_call& prepared,
                                                          bool stale,
                                                          tenon_error** error) noexcept {
  return guarded(error, [&] {
    if (stale) throw_stale(prepared);
    throw Error(TENON_ERROR_ARGUMENT,
                "{}: the call was prepared for plugin '{}', and these arguments are of another "
                "kind; pass what it was prepared for",
                prepared.op->name, prepared.provider);
  });
}

// Runs a call whose arguments fit, lists perhaps aside, and whose flags are not those of a plain
// call.
template <uint32_t kSpelling>
[[gnu::noinline]] tenon_status call_with_flags(const Implementation& implementation,
                                               const tenon_value* arguments, tenon_value* results,
                                               tenon_error** error, uint32_t flags) noexcept {
  const AsWritten written{{arguments, implementation.parameter_count}, {}, {}, kSpelling};
  if ((flags & kListsFlag) != 0) {
    flags &= ~kListsFlag;
    if (!gather_list_flags(implementation, arguments, flags)) [[unlikely]]
      return call_completed(implementation, written, results, error);
    if ((flags & kSpecialFlags) == 0) {
      tenon_context context{&implementation, arguments, results, error};
      return run_and_finish(context);
    }
  }
  const Writing writing =
      kSpelling == TENON_SPELLING_HANDLE ? Writing(written) : Writing(kSpelling);
  return enter_layers({implementation, arguments, results, error, flags, writing});
}

}  // namespace

const Implementation& require_implementation(const tenon_op* op) {
  const Implementation* active = op->implementation.load(std::memory_order_acquire);
  if (active == nullptr) throw_inactive(op);
  return *active;
}

tenon_status call_op_keywords(const tenon_op* op, const AsWritten& written, tenon_value* results,
                              tenon_error** error) noexcept {
  return with_implementation(op, error, [&](const Implementation& implementation) noexcept {
    return call_converted(implementation, written, results, error);
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

}  // namespace tenon::core
