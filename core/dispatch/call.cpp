// The op call. The plain path is one screen: bind by mask, look at flags, run.
#include "core/dispatch/call.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/stack.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/context.hpp"
#include "core/dispatch/modes.hpp"
#include "core/dispatch/thread_state.hpp"
#include "core/dispatch/trace.hpp"
#include "core/dispatch/value.hpp"

namespace tenon::core {

constinit thread_local ThreadState thread_state;

void set_view_base(Tensor& view, Tensor& input) noexcept {
  Tensor* base = input.view_base == nullptr ? &input : input.view_base;
  base->retain();
  if (view.view_base != nullptr) view.view_base->release();
  view.view_base = base;
  view.view_version = view.version();
  // Recording replaces it, also where it has switched grad mode off for the kernel.
  view.view_origin = input.view_origin != ViewOrigin::recorded ? input.view_origin
                     : thread_state.inference                  ? ViewOrigin::inference
                     : thread_state.grad_enabled               ? ViewOrigin::recorded
                                                               : ViewOrigin::no_grad;
  view.view.flags |= TENON_TENSOR_VIEW;
}

// After a run: in-place changes show in versions, views know their base.
[[gnu::noinline]] void settle(const Implementation& implementation, const tenon_value* arguments,
                              tenon_value* results) noexcept {
  if (implementation.mutates) {
    for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
      if ((implementation.mutated_parameters >> i & 1u) == 0) continue;
      if (arguments[i].tag == TENON_VALUE_TENSOR)
        note_change(implementation, *arguments[i].as.tensor);
      if (arguments[i].tag != TENON_VALUE_TENSOR_LIST) continue;
      for (uint32_t k = 0; k < arguments[i].length; ++k) {
        if (const Tensor* tensor = arguments[i].as.tensors[k]) note_change(implementation, *tensor);
      }
    }
  }
  if (!implementation.aliases) return;
  for (uint32_t r = 0; r < implementation.result_count; ++r) {
    const int32_t parameter = implementation.result_alias[r];
    if (parameter < 0 || arguments[parameter].tag != TENON_VALUE_TENSOR) continue;
    Tensor* input = arguments[parameter].as.tensor;
    const auto set_base = [&](Tensor* view) {
      if (view == nullptr || view == input || view->view_base != nullptr ||
          view->storage != input->storage)
        return;
      set_view_base(*view, *input);
    };
    if (results[r].tag == TENON_VALUE_TENSOR) set_base(results[r].as.tensor);
    if (results[r].tag == TENON_VALUE_TENSOR_LIST) {
      for (uint32_t k = 0; k < results[r].length; ++k) set_base(results[r].as.tensors[k]);
    }
  }
}

void release_results(const Implementation& implementation, tenon_value* results) noexcept {
  for (uint32_t r = 0; r < implementation.result_count; ++r) release_value(results[r]);
}

namespace {

// A plain run of a Function may have set attributes that only it could read.
void drop_transient_context(tenon_context& context) noexcept {
  if (context.function != nullptr && context.function->transient)
    delete std::exchange(context.function, nullptr);
}

[[gnu::noinline, gnu::cold]] tenon_status fail_run(const Implementation& implementation,
                                                   tenon_context& context, tenon_value* results,
                                                   tenon_status status,
                                                   tenon_error** error) noexcept {
  drop_transient_context(context);
  release_results(implementation, results);
  add_error_context(error, implementation, status);
  return status;
}

// ---- what a run gave, against the schema ----

bool number_tag(uint32_t tag) {
  return tag == TENON_VALUE_BOOL || tag == TENON_VALUE_INT || tag == TENON_VALUE_FLOAT;
}

// Whether a value is what a type of the schema says, lists and undefined tensors aside.
bool result_fits(const SchemaType& type, const tenon_value& value) {
  const uint32_t tag = value.tag;
  if (tag == TENON_VALUE_NONE) return type.optional || type.kind == TypeKind::any;
  if (type.kind == TypeKind::any)
    return tag < TENON_VALUE_TAG_COUNT && tag != TENON_VALUE_NOT_IMPLEMENTED;
  if (type.list) {
    if (type.length > 0 && value.length != static_cast<uint32_t>(type.length)) return false;
    const bool of_integers = tag == TENON_VALUE_INT_LIST &&
                             (type.kind == TypeKind::floating || type.kind == TypeKind::scalar);
    const bool of_numbers = (tag == TENON_VALUE_FLOAT_LIST || tag == TENON_VALUE_BOOL_LIST) &&
                            type.kind == TypeKind::scalar;
    return tag == list_tag(type.kind) || of_integers || of_numbers;
  }
  switch (type.kind) {
    case TypeKind::tensor:
      return tag == TENON_VALUE_TENSOR;
    case TypeKind::tensor_or_scalar:
      return tag == TENON_VALUE_TENSOR || number_tag(tag);
    case TypeKind::scalar:
      return number_tag(tag);
    case TypeKind::integer:
      return tag == TENON_VALUE_INT || tag == TENON_VALUE_BOOL;
    case TypeKind::floating:
      return tag == TENON_VALUE_FLOAT || tag == TENON_VALUE_INT;
    case TypeKind::boolean:
      return tag == TENON_VALUE_BOOL;
    case TypeKind::string:
      return tag == TENON_VALUE_STRING;
    case TypeKind::dtype:
      return tag == TENON_VALUE_DTYPE;
    case TypeKind::tree:
      return tag == TENON_VALUE_TREE;
    default:
      return true;
  }
}

bool is_object(uint32_t tag) {
  return tag == TENON_VALUE_TENSOR || tag == TENON_VALUE_TREE || tag == TENON_VALUE_MODULE;
}

// What is wrong with a result; empty when nothing is.
std::string result_fault(const SchemaType& type, const tenon_value& value) {
  if (!result_fits(type, value))
    return value.tag == TENON_VALUE_NONE ? "is none" : "is " + value_type_text(value);
  if (value.tag >= TENON_VALUE_STRING && value.as.pointer == nullptr &&
      (is_object(value.tag) || (value.tag != TENON_VALUE_DTYPE && value.length > 0)))
    return "is " + value_type_text(value) + " without what it holds";
  for (uint32_t k = 0; value.tag == TENON_VALUE_TENSOR_LIST && k < value.length; ++k) {
    if (value.as.tensors[k] == nullptr)
      return "has an undefined tensor at position " + std::to_string(k);
  }
  return {};
}

// Whether every tensor of a result is, or shares the memory of, the operand that the schema says.
bool aliases_as_declared(const Implementation& implementation, uint32_t r,
                         const tenon_value* arguments, const tenon_value* results) {
  const int32_t source = implementation.result_alias[r];
  if (source < 0 || arguments[source].tag != TENON_VALUE_TENSOR) return true;
  const Tensor* input = arguments[source].as.tensor;
  const bool same = implementation.schema.parameters[static_cast<size_t>(source)].type.mutates;
  const bool copies = (implementation.flags & TENON_OP_MAY_COPY) != 0;
  const auto fits = [&](const Tensor* tensor) {
    // A type without data shares nothing that could be compared.
    return same ? tensor == input
                : copies || input->storage == nullptr || tensor->storage == input->storage;
  };
  if (results[r].tag == TENON_VALUE_TENSOR) return fits(results[r].as.tensor);
  for (uint32_t k = 0; results[r].tag == TENON_VALUE_TENSOR_LIST && k < results[r].length; ++k) {
    if (!fits(results[r].as.tensors[k])) return false;
  }
  return true;
}

[[noreturn, gnu::cold]] void throw_result(const Implementation& implementation, size_t r,
                                          const std::string& fault) {
  throw Error(TENON_ERROR_TYPE, std::string(implementation.schema.short_name()) + "(): result " +
                                    std::to_string(r) + " " + fault + ", but the schema declares " +
                                    type_text(implementation.schema.returns[r]) +
                                    "; fix the op in plugin '" + implementation.provider + "'");
}

// Throws TypeError for the first result that is not what the schema declares.
void check_declared(const Implementation& implementation, const tenon_value* arguments,
                    const tenon_value* results) {
  for (uint32_t r = 0; r < implementation.result_count; ++r) {
    const std::string fault = result_fault(implementation.schema.returns[r], results[r]);
    if (!fault.empty()) throw_result(implementation, r, fault);
  }
  for (uint32_t r = 0; arguments != nullptr && r < implementation.result_count; ++r) {
    if (aliases_as_declared(implementation, r, arguments, results)) continue;
    const Parameter& source =
        implementation.schema.parameters[static_cast<size_t>(implementation.result_alias[r])];
    throw_result(implementation, r,
                 (source.type.mutates ? "is not the argument "
                                      : "does not share the memory of the argument ") +
                     quote(source.name));
  }
}

// Off the plain path: what one comparison of tags did not settle. `arguments` null: what it is
// alone, not what it aliases.
[[gnu::noinline]] tenon_status check_run(const Implementation& implementation,
                                         tenon_context& context, const tenon_value* arguments,
                                         tenon_value* results, tenon_error** error) noexcept {
  if (implementation.may_decline && results[0].tag == TENON_VALUE_NOT_IMPLEMENTED) return TENON_OK;
  const tenon_status status =
      guarded(error, [&] { check_declared(implementation, arguments, results); });
  if (status == TENON_OK) return TENON_OK;
  for (uint32_t r = 0; r < implementation.result_count; ++r) {
    // What has no known form cannot be released.
    if (results[r].tag >= TENON_VALUE_STRING && results[r].as.pointer == nullptr)
      results[r] = tenon_value{};
  }
  return fail_run(implementation, context, results, status, error);
}

[[gnu::always_inline]] inline bool tag_settles(uint8_t tag, const tenon_value& result) {
  return result.tag == tag && result.as.pointer != nullptr;
}

[[gnu::always_inline]] inline tenon_status run_here(const Implementation& implementation,
                                                    tenon_context& context,
                                                    const tenon_value* arguments,
                                                    tenon_value* results,
                                                    tenon_error** error) noexcept {
  // A run that fails halfway leaves what it has given; one that forgets a result gives none.
  if (implementation.result_count == 1) [[likely]] {
    results[0] = tenon_value{};
  } else {
    for (uint32_t r = 0; r < implementation.result_count; ++r) results[r] = tenon_value{};
  }
  const tenon_status status =
      implementation.run(implementation.self, &context, arguments, results, error);
  if (status != TENON_OK) [[unlikely]]
    return fail_run(implementation, context, results, status, error);
  if (implementation.result_count == 1) [[likely]] {
    if (tag_settles(implementation.result_tag, results[0])) [[likely]]
      return TENON_OK;
  } else {
    uint32_t settled = 0;
    while (settled < implementation.result_count &&
           tag_settles(implementation.result_tags[settled], results[settled]))
      ++settled;
    if (settled == implementation.result_count) return TENON_OK;
  }
  return check_run(implementation, context, nullptr, results, error);
}

[[gnu::always_inline]] inline tenon_status run_and_settle(const Implementation& implementation,
                                                          tenon_context& context,
                                                          const tenon_value* arguments,
                                                          tenon_value* results,
                                                          tenon_error** error) noexcept {
  const tenon_status status = run_here(implementation, context, arguments, results, error);
  if (status != TENON_OK) [[unlikely]]
    return status;
  if (!implementation.leaves_traces) return TENON_OK;
  drop_transient_context(context);
  if (implementation.may_decline && results[0].tag == TENON_VALUE_NOT_IMPLEMENTED) [[unlikely]]
    return TENON_OK;
  if (implementation.viewed_parameter >= 0) {
    Tensor* input = arguments[implementation.viewed_parameter].as.tensor;
    Tensor* view = results[0].as.tensor;
    if (view->storage != input->storage) [[unlikely]] {
      if ((implementation.flags & TENON_OP_MAY_COPY) == 0 && input->storage != nullptr)
        return check_run(implementation, context, arguments, results, error);
    } else if (view != input && view->view_base == nullptr) {
      set_view_base(*view, *input);
    }
  } else if (implementation.settles) {
    if (implementation.returned_parameter < 0 ||
        results[0].as.tensor != arguments[implementation.returned_parameter].as.tensor) {
      const tenon_status checked = check_run(implementation, context, arguments, results, error);
      if (checked != TENON_OK) [[unlikely]]
        return checked;
    }
    settle(implementation, arguments, results);
  }
  if (implementation.out_parameter >= 0) {
    const tenon_value& out = arguments[implementation.out_parameter];
    if (out.tag == TENON_VALUE_TENSOR) note_change(implementation, *out.as.tensor);
  }
  return TENON_OK;
}

}  // namespace

namespace {

void trace_kernel(const Implementation& implementation) {
  trace(trace_event::kernel, implementation,
        (implementation.composite ? "composite " : "kernel ") + implementation.schema.name,
        implementation.provider);
}

// A run that modes below autograd or a trace hear of.
using Run = tenon_status (*)(const Implementation& implementation, tenon_context& context,
                             const tenon_value* arguments, tenon_value* results,
                             tenon_error** error) noexcept;
[[gnu::noinline]] tenon_status run_watched(Run run, const Implementation& implementation,
                                           tenon_context& context, const tenon_value* arguments,
                                           tenon_value* results, tenon_error** error) noexcept {
  tenon_status status = TENON_OK;
  // No kernel runs for a composite: the ops that it calls are asked about.
  if (thread_state.mode_below != nullptr && !implementation.composite &&
      run_in_modes(implementation, context, arguments, results, error, status)) {
    return status != TENON_OK
               ? status
               : check_run(implementation, context, implementation.mutates ? arguments : nullptr,
                           results, error);
  }
  if (tracing()) trace_kernel(implementation);
  const TraceDepth inside(tracing());
  return run(implementation, context, arguments, results, error);
}

tenon_status run_unsettled(const Implementation& implementation, tenon_context& context,
                           const tenon_value* arguments, tenon_value* results,
                           tenon_error** error) noexcept {
  const tenon_status status = run_here(implementation, context, arguments, results, error);
  if (status != TENON_OK || !implementation.settles) return status;
  return check_run(implementation, context, arguments, results, error);
}
tenon_status run_settled(const Implementation& implementation, tenon_context& context,
                         const tenon_value* arguments, tenon_value* results,
                         tenon_error** error) noexcept {
  return run_and_settle(implementation, context, arguments, results, error);
}

}  // namespace

tenon_status run_only(const Implementation& implementation, tenon_context& context,
                      const tenon_value* arguments, tenon_value* results,
                      tenon_error** error) noexcept {
  if (thread_state.call_flags != 0) [[unlikely]]
    return run_watched(run_unsettled, implementation, context, arguments, results, error);
  return run_unsettled(implementation, context, arguments, results, error);
}

tenon_status run_plain(const Implementation& implementation, tenon_context& context,
                       const tenon_value* arguments, tenon_value* results,
                       tenon_error** error) noexcept {
  if (thread_state.call_flags != 0) [[unlikely]]
    return run_watched(run_settled, implementation, context, arguments, results, error);
  return run_and_settle(implementation, context, arguments, results, error);
}

namespace {

// What the operands carry that leaves the plain path; false when an argument needs converting or
// refusing.
[[gnu::always_inline]] inline bool gather_flags(const Implementation& implementation,
                                                const tenon_value* arguments, uint32_t& flags) {
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    const uint32_t tag = arguments[i].tag;
    // Without a branch of its own, and false for a forged tag.
    if (((implementation.accept[i] >> (tag & 31u)) & static_cast<uint32_t>(tag < 32u)) == 0)
        [[unlikely]]
      return false;
    if (tag == TENON_VALUE_TENSOR) flags |= arguments[i].as.tensor->flags();
  }
  if (!implementation.lists) [[likely]]
    return true;
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

// Why bound arguments do not fit after all.
[[noreturn, gnu::cold]] void throw_unfit(const Implementation& implementation,
                                         const tenon_value* arguments) {
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    if (arguments[i].tag != TENON_VALUE_TENSOR_LIST) continue;
    for (uint32_t k = 0; k < arguments[i].length; ++k) {
      if (arguments[i].as.tensors[k] != nullptr) continue;
      throw Error(TENON_ERROR_TYPE,
                  std::string(implementation.schema.short_name()) + "(): argument '" +
                      implementation.schema.parameters[i].name + "': element " + std::to_string(k) +
                      " is undefined; every tensor of the list must be defined");
    }
  }
  throw Error(TENON_ERROR_INTERNAL, "binding left an argument that the schema does not take");
}

// Whether an operand that the call changes carries the flag.
bool changes_flagged(const Implementation& implementation, const tenon_value* arguments,
                     uint32_t flag) {
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    const bool written = (implementation.mutated_parameters >> i & 1u) != 0 ||
                         static_cast<int32_t>(i) == implementation.out_parameter;
    if (written && arguments[i].tag == TENON_VALUE_TENSOR &&
        arguments[i].as.tensor->has_flag(flag)) {
      return true;
    }
  }
  return false;
}

// Why the call may not change what it changes; null when it may.
struct ForbiddenChange {
  tenon_status kind;
  const char* why;
};
const ForbiddenChange* forbidden_change(const Implementation& implementation,
                                        const tenon_value* arguments, uint32_t flags) {
  static constexpr ForbiddenChange read_only{TENON_ERROR_RUNTIME,
                                             "an operand that it changes is read-only"};
  static constexpr ForbiddenChange inference{TENON_ERROR_INPLACE, kInferenceChange};
  if ((flags & TENON_TENSOR_READ_ONLY) != 0 &&
      changes_flagged(implementation, arguments, TENON_TENSOR_READ_ONLY))
    return &read_only;
  if ((flags & TENON_TENSOR_INFERENCE) != 0 && !thread_state.inference &&
      changes_flagged(implementation, arguments, TENON_TENSOR_INFERENCE))
    return &inference;
  return nullptr;
}

// A view without history whose base has one: reading it may mean reading it out of the base again,
// and changing it changes the base.
bool concerns_base(const Implementation& implementation, const tenon_value* arguments) {
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    const tenon_value& value = arguments[i];
    const bool written = (implementation.mutated_parameters >> i & 1u) != 0 ||
                         static_cast<int32_t>(i) == implementation.out_parameter ||
                         (implementation.flags & TENON_OP_FUNCTION) != 0;  // may mark it dirty
    const auto concerns = [&](const Tensor* tensor) {
      if (tensor == nullptr || tensor->view_base == nullptr) return false;
      // Another thread may have brought it up to date since its flags were gathered.
      return tensor->older_than_base() || tensor->requires_grad() ||
             (written && tensor->view_base->requires_grad());
    };
    if (value.tag == TENON_VALUE_TENSOR && concerns(value.as.tensor)) return true;
    for (uint32_t k = 0; value.tag == TENON_VALUE_TENSOR_LIST && k < value.length; ++k) {
      if (concerns(value.as.tensors[k])) return true;
    }
  }
  return false;
}

// A view without a tangent whose base has got one.
bool has_dual_base(const Implementation& implementation, const tenon_value* arguments) {
  const auto dual = [](const Tensor* tensor) {
    return tensor != nullptr && tensor->view_base != nullptr &&
           tensor->view_base->has_flag(TENON_TENSOR_HAS_TANGENT);
  };
  for (uint32_t i = 0; i < implementation.slot_parameters; ++i) {
    const tenon_value& value = arguments[i];
    if (value.tag == TENON_VALUE_TENSOR && dual(value.as.tensor)) return true;
    for (uint32_t k = 0; value.tag == TENON_VALUE_TENSOR_LIST && k < value.length; ++k) {
      if (dual(value.as.tensors[k])) return true;
    }
  }
  return false;
}

[[gnu::always_inline]] inline bool completes_recorded(const Implementation& implementation,
                                                      const tenon_value* arguments,
                                                      uint32_t& flags) {
  if ((flags & (TENON_TENSOR_VIEW | TENON_TENSOR_REQUIRES_GRAD)) == TENON_TENSOR_VIEW &&
      records() && concerns_base(implementation, arguments)) {
    flags |= TENON_TENSOR_REQUIRES_GRAD;
  }
  if (thread_state.dual_level != 0 &&
      (flags & (TENON_TENSOR_VIEW | TENON_TENSOR_HAS_TANGENT)) == TENON_TENSOR_VIEW &&
      has_dual_base(implementation, arguments)) {
    flags |= TENON_TENSOR_HAS_TANGENT;
  }
  const bool record = (flags & TENON_TENSOR_REQUIRES_GRAD) != 0 && records();
  // A Function may return its input: then the result must be a handle of its own, recorded or
  // not.
  const bool hands_on =
      (implementation.flags & TENON_OP_FUNCTION) != 0 && (flags & TENON_TENSOR_REQUIRES_GRAD) != 0;
  return (record || hands_on || (flags & TENON_TENSOR_HAS_TANGENT) != 0) &&
         !implementation.composite;
}

}  // namespace

void check_changes(const Implementation& implementation, const tenon_value* arguments,
                   uint32_t flags) {
  if (const ForbiddenChange* change = forbidden_change(implementation, arguments, flags)) {
    throw Error(change->kind,
                std::string(implementation.schema.short_name()) + "(): " + change->why);
  }
}

bool goes_recorded(const Implementation& implementation, const tenon_value* arguments,
                   uint32_t& flags) noexcept {
  return completes_recorded(implementation, arguments, flags);
}

namespace {

tenon_status call_traced(const Implementation& implementation, const tenon_value* arguments,
                         tenon_value* results, uint32_t flags, tenon_error** error,
                         const AsWritten* written) noexcept;

[[gnu::noinline]] tenon_status call_bound(const Implementation& implementation,
                                          const tenon_value* arguments, tenon_value* results,
                                          uint32_t flags, tenon_error** error,
                                          const AsWritten* written) noexcept {
  if ((flags & kSpecialFlags) != 0) [[unlikely]] {
    if ((flags & kTraceFlag) != 0)
      return call_traced(implementation, arguments, results, flags & ~kTraceFlag, error, written);
    if ((flags & kModeFlag) != 0)
      return call_in_modes(implementation, arguments, results, flags, error, written);
    if ((flags & TENON_TENSOR_TYPED) != 0)
      return call_typed(implementation, arguments, results, flags, error, written);
    if ((flags & (TENON_TENSOR_READ_ONLY | TENON_TENSOR_INFERENCE)) != 0 &&
        forbidden_change(implementation, arguments, flags) != nullptr) [[unlikely]]
      return guarded(error, [&] { check_changes(implementation, arguments, flags); });
    if (completes_recorded(implementation, arguments, flags))
      return call_recorded(implementation, arguments, results, flags, error, written);
  }
  tenon_context context{&implementation, arguments, nullptr, nullptr, written};
  return run_plain(implementation, context, arguments, results, error);
}

[[gnu::noinline, gnu::cold]] tenon_status call_traced(const Implementation& implementation,
                                                      const tenon_value* arguments,
                                                      tenon_value* results, uint32_t flags,
                                                      tenon_error** error,
                                                      const AsWritten* written) noexcept {
  trace_call(implementation, arguments, written);
  const TraceDepth inside;
  if (thread_state.types_disabled && (flags & TENON_TENSOR_TYPED) != 0)
    trace(trace_event::disabled, implementation, "types are disabled");
  if (thread_state.modes_disabled && thread_state.mode != nullptr)
    trace(trace_event::disabled, implementation, "modes are disabled");
  const tenon_status status = call_bound(implementation, arguments, results, flags, error, written);
  if (status != TENON_OK) trace_error(implementation, status, error == nullptr ? nullptr : *error);
  return status;
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
  // Too many for all of them are told as they are.
  if (values.size() <= most || values.size() > implementation.parameter_count) return;
  positional = values.first(most);
  keyword_values = values.subspan(most);
  for (size_t i = 0; i < keyword_values.size(); ++i) {
    const std::string& name = implementation.schema.parameters[most + i].name;
    names_[i] = {name.data(), static_cast<int64_t>(name.size())};
  }
  keywords = {names_, keyword_values.size()};
}

tenon_status call_untyped(const Implementation& implementation, const tenon_value* arguments,
                          tenon_value* results, uint32_t flags, tenon_error** error,
                          const AsWritten* written) noexcept {
  return call_bound(implementation, arguments, results, flags, error, written);
}

namespace {

// How many ops a chain names: enough to see what repeats.
constexpr size_t kChain = 8;

std::string recursion_text(const std::vector<std::string>& chain) {
  std::string text;
  for (const std::string& op : chain) text += (text.empty() ? "" : " -> ") + op;
  const std::string& innermost = chain.back();
  return innermost.substr(innermost.rfind('.') + 1) +
         "(): endless recursion: calls inside each other have used up the stack: ... -> " + text +
         "; an op that leads back to itself needs a case in which it does not";
}

[[noreturn, gnu::cold]] void throw_inactive(const tenon_op* op) {
  throw Error(TENON_ERROR_NOT_IMPLEMENTED, "op '" + op->name +
                                               "' has no active implementation: its plugin was "
                                               "disabled or unloaded; `tenon show " +
                                               op->name + "` says more");
}

}  // namespace

const Implementation& require_implementation(const tenon_op* op) {
  const Implementation* active = op->implementation.load(std::memory_order_acquire);
  if (active == nullptr) throw_inactive(op);
  return *active;
}

namespace {

// Binds, which converts what the implementation does not take as it is.
[[gnu::noinline]] tenon_status call_converting(const Implementation& implementation,
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
  return call_bound(implementation, bound.values, results, flags, error, &written);
}

[[gnu::noinline, gnu::cold]] tenon_status no_implementation(const tenon_op* op,
                                                            tenon_error** error) {
  return guarded(error, [&] { throw_inactive(op); });
}

// Arguments that need converting: typed wrappers pass keyword-only parameters by position too.
[[gnu::noinline]] tenon_status call_unfitting(const Implementation& implementation,
                                              const AsWritten& given, tenon_value* results,
                                              tenon_error** error) noexcept {
  const OrderedArguments ordered(implementation, given.positional);
  return call_converting(
      implementation, {ordered.positional, ordered.keywords, ordered.keyword_values, given.filled},
      results, error);
}

// Trailing parameters take their defaults.
[[gnu::noinline]] tenon_status call_filling(const Implementation& implementation,
                                            const AsWritten& written, tenon_value* results,
                                            tenon_error** error) noexcept {
  const auto given = static_cast<uint32_t>(written.positional.size());
  if (given > implementation.parameter_count ||
      given < static_cast<uint32_t>(implementation.schema.required_count)) {
    return call_unfitting(implementation, written, results, error);
  }
  tenon_value filled[kMaxParameters];
  for (uint32_t i = 0; i < given; ++i) filled[i] = written.positional[i];
  for (uint32_t i = given; i < implementation.parameter_count; ++i)
    filled[i] = implementation.schema.parameters[i].default_value.value;
  uint32_t flags = thread_state.call_flags;
  if (!gather_flags(implementation, filled, flags))
    return call_unfitting(implementation, written, results, error);
  return call_bound(implementation, filled, results, flags, error, &written);
}

// Refuses a call for which too little of the stack is left.
[[gnu::noinline, gnu::cold]] tenon_status check_stack(const tenon_op* op,
                                                      tenon_error** error) noexcept {
  if (!stack_is_low(kCallReserve)) return TENON_OK;
  return guarded(error, [&] {
    Error refused(TENON_ERROR_RUNTIME, recursion_text({op->name}));
    refused.op = op->name;
    refused.chain.push_back(op->name);
    throw refused;
  });
}

template <bool kFilled>
[[gnu::always_inline]] inline tenon_status call_ordered(const tenon_op* op,
                                                        const tenon_value* arguments, int64_t count,
                                                        tenon_value* results,
                                                        tenon_error** error) noexcept {
  if (stack_may_be_low()) [[unlikely]] {
    const tenon_status status = check_stack(op, error);
    if (status != TENON_OK) return status;
  }
  const Implementation* implementation = op->implementation.load(std::memory_order_acquire);
  if (implementation == nullptr) [[unlikely]]
    return no_implementation(op, error);
  const auto given = static_cast<uint32_t>(count);
  const auto written = [&] {
    return AsWritten{{arguments, static_cast<size_t>(given)}, {}, {}, kFilled};
  };
  if (given != implementation->parameter_count) [[unlikely]]
    return call_filling(*implementation, written(), results, error);
  uint32_t flags = thread_state.call_flags;
  if (!gather_flags(*implementation, arguments, flags)) [[unlikely]] {
    return call_unfitting(*implementation, written(), results, error);
  }
  if ((flags & kSpecialFlags) != 0) [[unlikely]] {
    const AsWritten as_written = written();
    return call_bound(*implementation, arguments, results, flags, error, &as_written);
  }
  tenon_context context{implementation, arguments};
  return run_and_settle(*implementation, context, arguments, results, error);
}

}  // namespace

tenon_status call_op(const tenon_op* op, const tenon_value* arguments, int64_t count,
                     tenon_value* results, tenon_error** error) noexcept {
  return call_ordered<false>(op, arguments, count, results, error);
}
tenon_status call_op_filled(const tenon_op* op, const tenon_value* arguments, int64_t count,
                            tenon_value* results, tenon_error** error) noexcept {
  return call_ordered<true>(op, arguments, count, results, error);
}

tenon_status call_op_keywords(const tenon_op* op, std::span<const tenon_value> positional,
                              std::span<const tenon_string> keywords,
                              std::span<const tenon_value> keyword_values, tenon_value* results,
                              tenon_error** error) noexcept {
  if (stack_may_be_low()) [[unlikely]] {
    const tenon_status status = check_stack(op, error);
    if (status != TENON_OK) return status;
  }
  const Implementation* implementation = op->implementation.load(std::memory_order_acquire);
  if (implementation == nullptr) [[unlikely]]
    return no_implementation(op, error);
  return call_converting(*implementation, {positional, keywords, keyword_values}, results, error);
}

tenon_status call_again(const Implementation& implementation, const tenon_value* arguments,
                        const AsWritten& written, tenon_value* results,
                        tenon_error** error) noexcept {
  const tenon_op* op = implementation.op;
  uint32_t flags = thread_state.call_flags;
  // A handler may have had the op's implementation changed, or have put in what does not fit.
  if (op->implementation.load(std::memory_order_acquire) != &implementation ||
      !gather_flags(implementation, arguments, flags))
    return call_op_filled(op, arguments, implementation.parameter_count, results, error);
  return call_bound(implementation, arguments, results, flags, error, &written);
}

TensorRef call_tensor(const tenon_op* op, std::span<const tenon_value> arguments) {
  tenon_value results[8] = {};
  tenon_error* error = nullptr;
  const tenon_status status =
      call_op(op, arguments.data(), static_cast<int64_t>(arguments.size()), results, &error);
  if (status != TENON_OK) throw_status(status, error);
  if (results[0].tag != TENON_VALUE_TENSOR) {
    release_value(results[0]);
    throw Error(TENON_ERROR_TYPE,
                "op '" + op->name + "' did not return a tensor where the runtime needs one");
  }
  return TensorRef::take(results[0].as.tensor);
}

namespace {

std::string_view last_word(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// "op(): ...", "... op 'op' ...", "... (thrown by 'op')", "[op::backward] ...": whether a message
// names the op.
bool names_op(std::string_view message, std::string_view op) {
  for (const std::string_view name : {last_word(op), op}) {
    const std::string called = std::string(name) + "(";
    if (message.starts_with(called) || message.find("op " + quote(name)) != message.npos ||
        message.find("by " + quote(name)) != message.npos ||
        message.starts_with("[" + std::string(name) + "::"))
      return true;
  }
  return false;
}

// The failure of `inner`, an op that `op` called, reads "op(): inner(): ..."; between the two there
// may be others, which the causes name.
void name_called_op(std::string& message, std::string_view op, std::string_view inner) {
  const std::string between = std::string(last_word(inner)) + "(): ";
  if (!inner.empty() && message.starts_with(between) &&
      message.find("(): ", between.size()) != message.npos)
    message.erase(0, between.size());
  if (!names_op(message, op)) message = std::string(last_word(op)) + "(): " + message;
}

}  // namespace

void add_error_context(tenon_error** slot, const Implementation& implementation,
                       tenon_status status, FailureOf what) noexcept {
  if (slot == nullptr) return;
  try {
    const std::string& op = implementation.schema.name;
    if (*slot == nullptr) {
      *slot =
          new tenon_error{Error(status, op + "() failed with status " + std::to_string(status) +
                                            " (" + error_kind_text(status) + ") and no message")};
    }
    tenon_error& error = **slot;
    if (error.preallocated) return;
    if (std::vector<std::string>& chain = error.error.chain; !chain.empty()) {
      if (chain.size() == 1) error.error.provider = implementation.provider;
      if (chain.size() >= kChain) return;
      chain.insert(chain.begin(), op);
      error.error.message = recursion_text(chain);
      return;
    }
    if (error.error.op == op) return;
    const std::string inner = std::exchange(error.error.op, op);
    if (!inner.empty()) {
      // It comes from another op that this one called, as the cause of this one's failure.
      auto cause = std::make_shared<tenon_error>(error);
      cause->error.op = inner;
      error.error.cause = std::move(cause);
    }
    if (what == FailureOf::call) name_called_op(error.error.message, op, inner);
    error.error.provider = implementation.provider;
  } catch (...) {  // without memory the error goes on without its context
  }
}

}  // namespace tenon::core
