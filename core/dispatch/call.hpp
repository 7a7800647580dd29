// The op call: the one way from a handle and arguments to results.
#pragma once

#include <span>

#include "core/dispatch/op.hpp"
#include "core/dispatch/thread_state.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/error.h"
#include "tenon/abi/value.h"

namespace tenon::core {

// Flags of operands that leave the plain path.
inline constexpr uint32_t kSpecialFlags =
    TENON_TENSOR_REQUIRES_GRAD | TENON_TENSOR_HAS_TANGENT | TENON_TENSOR_TYPED |
    TENON_TENSOR_READ_ONLY | TENON_TENSOR_INFERENCE | TENON_TENSOR_VIEW | kModeFlag | kTraceFlag;

inline constexpr const char* kInferenceChange =
    "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone "
    "to get a normal tensor before doing inplace update.";

// With the first `count` parameters given in schema order; the others take their defaults.
// `results` has result_count slots. On failure nothing is given.
tenon_status call_op(const tenon_op* op, const tenon_value* arguments, int64_t count,
                     tenon_value* results, tenon_error** error) noexcept;
// The same by a typed wrapper, see AsWritten::filled.
tenon_status call_op_filled(const tenon_op* op, const tenon_value* arguments, int64_t count,
                            tenon_value* results, tenon_error** error) noexcept;
tenon_status call_op_keywords(const tenon_op* op, std::span<const tenon_value> positional,
                              std::span<const tenon_string> keywords,
                              std::span<const tenon_value> keyword_values, tenon_value* results,
                              tenon_error** error) noexcept;

// A call that a mode passes on: bound arguments, and how they were written.
tenon_status call_again(const Implementation& implementation, const tenon_value* arguments,
                        const AsWritten& written, tenon_value* results,
                        tenon_error** error) noexcept;

// Runs the implementation for bound arguments without recording; keeps versions and view bases.
// What dispatch does on the plain path, and autograd beneath its own work.
tenon_status run_plain(const Implementation& implementation, tenon_context& context,
                       const tenon_value* arguments, tenon_value* results,
                       tenon_error** error) noexcept;

// The two halves of it, for Functions: what they see as their inputs are not the caller's tensors.
tenon_status run_only(const Implementation& implementation, tenon_context& context,
                      const tenon_value* arguments, tenon_value* results,
                      tenon_error** error) noexcept;
void settle(const Implementation& implementation, const tenon_value* arguments,
            tenon_value* results) noexcept;
void release_results(const Implementation& implementation, tenon_value* results) noexcept;
// The tensor has been changed in place by the op.
inline void note_change(const Implementation& implementation, const Tensor& tensor) noexcept {
  if (tensor.storage == nullptr) return;
  tensor.storage->version.fetch_add(1, std::memory_order_relaxed);
  tensor.storage->last_writer.store(implementation.op, std::memory_order_relaxed);
}
// Makes `view`, which shares the storage of `input`, a view of what `input` is a view of.
void set_view_base(Tensor& view, Tensor& input) noexcept;

// The layer above: bound arguments of which some require grad or carry tangents. Defined by
// autograd.
tenon_status call_recorded(const Implementation& implementation, const tenon_value* arguments,
                           tenon_value* results, uint32_t flags, tenon_error** error,
                           const AsWritten* written) noexcept;

// Refuses, before anything runs, what cannot be recorded. Defined by autograd.
void check_recordable(const Implementation& implementation, const tenon_value* arguments);

// Of some operands types other than Tensor: asks overrides and handlers. Defined by overrides.cpp.
tenon_status call_typed(const Implementation& implementation, const tenon_value* arguments,
                        tenon_value* results, uint32_t flags, tenon_error** error,
                        const AsWritten* written) noexcept;
// Bound arguments once types have been looked at: records, propagates tangents, runs. `written` is
// null where it is not known.
tenon_status call_untyped(const Implementation& implementation, const tenon_value* arguments,
                          tenon_value* results, uint32_t flags, tenon_error** error,
                          const AsWritten* written) noexcept;

// What a call runs now; throws NotImplementedError when nothing is active.
const Implementation& require_implementation(const tenon_op* op);
// Binds as a call does: converts, and refuses tensors that are undefined. `bound` lives as long as
// the call; gives the flags that its operands carry.
uint32_t bind_call(const Implementation& implementation, std::span<const tenon_value> positional,
                   std::span<const tenon_string> keywords,
                   std::span<const tenon_value> keyword_values, BoundArguments& bound);
// Values in schema order, as typed wrappers pass them: those behind '*' are taken by their names.
struct OrderedArguments {
  OrderedArguments(const Implementation& implementation, std::span<const tenon_value> values);
  std::span<const tenon_value> positional, keyword_values;
  std::span<const tenon_string> keywords;

 private:
  tenon_string names_[kMaxParameters];
};
// Refuses to change what is read-only, and inference tensors outside of inference mode.
void check_changes(const Implementation& implementation, const tenon_value* arguments,
                   uint32_t flags);
// Completes what operands carry by what their bases do, and returns whether the call goes through
// autograd instead of to the kernel. Of an op that is not a composite.
bool goes_recorded(const Implementation& implementation, const tenon_value* arguments,
                   uint32_t& flags) noexcept;

// For the core itself: an op by handle on tensors and plain values; throws.
TensorRef call_tensor(const tenon_op* op, std::span<const tenon_value> arguments);

inline tenon_value tensor_value(Tensor* tensor) {
  tenon_value value{};
  if (tensor != nullptr) {
    value.tag = TENON_VALUE_TENSOR;
    value.as.tensor = tensor;
  }
  return value;
}

inline tenon_value int_value(int64_t number) {
  tenon_value value{};
  value.tag = TENON_VALUE_INT;
  value.as.integer = number;
  return value;
}
// Borrows the numbers.
inline tenon_value int_list_value(std::span<const int64_t> numbers) {
  tenon_value value{};
  value.tag = TENON_VALUE_INT_LIST;
  value.length = static_cast<uint32_t>(numbers.size());
  value.as.integers = numbers.data();
  return value;
}

// Whose failure it is: of a call, which the message then names, or of a rule, which says it itself.
enum class FailureOf { call, rule };

// Adds op and provider to an error, and to its message the op where it names none; one that names
// another op becomes the cause, and of a recursion the chain gets longer.
void add_error_context(tenon_error** error, const Implementation& implementation,
                       tenon_status status, FailureOf what = FailureOf::call) noexcept;

}  // namespace tenon::core
