// Calls that binding has to look at: with fewer arguments than parameters, with keywords, or with
// values to convert. The plain path (call/call.cpp) needs the first function alone.
#pragma once

#include <span>

#include "core/dispatch/binding/arguments.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/table/op.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// Adds the flags of each operand, lists aside; false when an argument needs converting or refusing.
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

// Adds the flags of the tensors in lists; false when a list is of another length than its schema
// says, or has an undefined tensor.
bool gather_list_flags(const Implementation& implementation, const tenon_value* arguments,
                       uint32_t& flags);
// Adds all flags that a call with these arguments carries; false as above.
bool gather_flags(const Implementation& implementation, const tenon_value* arguments,
                  uint32_t& flags);

// Runs a call in schema order, with fewer arguments than parameters or in need of converting: the
// other parameters take their defaults, and arguments after '*', which typed wrappers pass by
// position too, are taken by their names.
tenon_status call_completed(const Implementation& implementation, const AsWritten& written,
                            tenon_value* results, tenon_error** error) noexcept;
// Runs a call by bind_arguments, which converts values that the implementation does not take as
// they are.
tenon_status call_converted(const Implementation& implementation, const AsWritten& written,
                            tenon_value* results, tenon_error** error) noexcept;

// Binds as a call does: converts, and refuses tensors that are undefined. `bound` lives as long as
// the call. Returns the flags that its operands carry.
uint32_t bind_call(const Implementation& implementation, const AsWritten& written,
                   BoundArguments& bound);

// Values in schema order, as typed wrappers pass them, in the form of a call with keywords: those
// after '*' are taken by their names.
class OrderedArguments {
 public:
  OrderedArguments(const Implementation& implementation, std::span<const tenon_value> values);
  const AsWritten& written() const { return written_; }

 private:
  AsWritten written_;
  tenon_string names_[kMaxParameters];
};

}  // namespace tenon::core
