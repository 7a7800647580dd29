// Binding of calls off the plain path.
#include "core/dispatch/binding/bound_call.hpp"

#include "core/base/error.hpp"
#include "core/dispatch/call/error_context.hpp"
#include "core/dispatch/call/trace.hpp"

namespace tenon::core {

bool gather_flags(const Implementation& implementation, const tenon_value* arguments,
                  uint32_t& flags) {
  flags |= implementation.call_flags.load(std::memory_order_relaxed) & ~kListsFlag;
  if (!gather_operand_flags(implementation, arguments, flags)) return false;
  return (implementation.call_flags.load(std::memory_order_relaxed) & kListsFlag) == 0 ||
         gather_list_flags(implementation, arguments, flags);
}

tenon_status call_completed(const Implementation& implementation, const AsWritten& written,
                            tenon_value* results, tenon_error** error) noexcept {
  tenon_value filled[kMaxParameters];
  uint32_t flags = thread_state.call_flags;
  if (bind_plain(implementation.schema, written.positional, filled) &&
      gather_flags(implementation, filled, flags))
    return enter_layers({implementation, filled, results, error, flags, Writing(written)});
  const OrderedArguments ordered(implementation, written.positional);
  AsWritten by_name = ordered.written();
  by_name.spelling = written.spelling;
  return call_converted(implementation, by_name, results, error);
}

tenon_status call_converted(const Implementation& implementation, const AsWritten& written,
                            tenon_value* results, tenon_error** error) noexcept {
  BoundArguments bound;
  uint32_t flags = thread_state.call_flags;
  const tenon_status status =
      guarded(error, [&] { flags |= bind_call(implementation, written, bound); });
  if (status != TENON_OK) {
    add_error_context(error, implementation, status);
    if (tracing()) trace_error(implementation, status, error == nullptr ? nullptr : *error);
    return status;
  }
  return enter_layers({implementation, bound.values, results, error, flags, Writing(written)});
}

namespace {

// Throws the error of bound arguments that do not fit after all.
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

uint32_t bind_call(const Implementation& implementation, const AsWritten& written,
                   BoundArguments& bound) {
  bind_arguments(implementation.schema, written, bound);
  uint32_t flags = 0;
  if (!gather_flags(implementation, bound.values, flags)) throw_unfit(implementation, bound.values);
  return flags;
}

OrderedArguments::OrderedArguments(const Implementation& implementation,
                                   std::span<const tenon_value> values)
    : written_{values} {
  const auto most = static_cast<size_t>(implementation.schema.positional_count);
  // Too many arguments: leave them unconverted, binding reports the error.
  if (values.size() <= most || values.size() > implementation.parameter_count) return;
  written_.positional = values.first(most);
  written_.keyword_values = values.subspan(most);
  for (size_t i = most; i < values.size(); ++i) {
    const std::string& name = implementation.schema.parameters[i].name;
    names_[i - most] = {name.data(), static_cast<int64_t>(name.size())};
  }
  written_.keywords = {names_, values.size() - most};
}

}  // namespace tenon::core
