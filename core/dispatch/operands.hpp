// The tensors among the arguments of a call.
#pragma once

#include <cstdint>

#include "core/dispatch/op.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/value.h"

namespace tenon::core {

// Calls visit(Tensor*) with every tensor of a value, in lists too. Undefined entries are left out.
template <class Visit>
void for_each_tensor(const tenon_value& value, Visit&& visit) {
  if (value.tag == TENON_VALUE_TENSOR) {
    visit(value.as.tensor);
  } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
    for (uint32_t k = 0; k < value.length; ++k) {
      if (value.as.tensors[k] != nullptr) visit(value.as.tensors[k]);
    }
  }
}

// The same for all arguments of a call, in order, `out` included.
template <class Visit>
void for_each_operand(const Implementation& implementation, const tenon_value* arguments,
                      Visit&& visit) {
  for (uint32_t i = 0; i < implementation.parameter_count; ++i)
    for_each_tensor(arguments[i], visit);
}

// Whether the op changes the tensors of the parameter in place; `out` is not among these.
inline bool is_mutated(const Implementation& implementation, uint32_t parameter) {
  return (implementation.mutated_parameters >> parameter & 1u) != 0;
}

// Calls visit(Tensor*, parameter) with every operand that the call changes in place.
template <class Visit>
void for_each_mutated(const Implementation& implementation, const tenon_value* arguments,
                      Visit&& visit) {
  if (!implementation.mutates) return;
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    if (is_mutated(implementation, i))
      for_each_tensor(arguments[i], [&](Tensor* tensor) { visit(tensor, i); });
  }
}

}  // namespace tenon::core
