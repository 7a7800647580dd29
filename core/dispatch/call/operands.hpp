// The tensors among the arguments of a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/dispatch/table/op.hpp"
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

// Calls visit(Tensor*) with every tensor of the arguments, in order, `out` included.
template <class Visit>
void for_each_operand(const Implementation& implementation, const tenon_value* arguments,
                      Visit&& visit) {
  for (uint32_t i = 0; i < implementation.parameter_count; ++i)
    for_each_tensor(arguments[i], visit);
}

// Gradients and tangents are counted by slots: the parameters up to the last tensor have one each,
// also without a tensor, a list as many as it has entries.
inline uint32_t slots_of(const tenon_value& value) {
  return value.tag == TENON_VALUE_TENSOR_LIST ? value.length : 1;
}
inline size_t count_slots(const Implementation& implementation, const tenon_value* arguments) {
  size_t slots = 0;
  for (uint32_t i = 0; i < implementation.slot_parameters; ++i) slots += slots_of(arguments[i]);
  return slots;
}
// Calls visit(slot, tensor or null, parameter) for every slot, in order.
template <class Visit>
void for_each_slot(const Implementation& implementation, const tenon_value* arguments,
                   Visit&& visit) {
  size_t slot = 0;
  for (uint32_t i = 0; i < implementation.slot_parameters; ++i) {
    const tenon_value& value = arguments[i];
    if (value.tag == TENON_VALUE_TENSOR_LIST) {
      for (uint32_t k = 0; k < value.length; ++k) visit(slot++, value.as.tensors[k], i);
    } else {
      visit(slot++, value.tag == TENON_VALUE_TENSOR ? value.as.tensor : nullptr, i);
    }
  }
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

// Whether the call writes into the tensors of the parameter: in place, or as `out`.
inline bool is_written(const Implementation& implementation, uint32_t parameter) {
  return is_mutated(implementation, parameter) ||
         static_cast<int32_t>(parameter) == implementation.out_parameter;
}

// Whether `out` was given: a tensor, or a list of one for each result.
inline bool has_out(const Implementation& implementation, const tenon_value* arguments) {
  return implementation.out_parameter >= 0 &&
         arguments[implementation.out_parameter].tag != TENON_VALUE_NONE;
}

// Calls visit(Tensor*, parameter) with every operand that the call writes into.
template <class Visit>
void for_each_written(const Implementation& implementation, const tenon_value* arguments,
                      Visit&& visit) {
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    if (is_written(implementation, i))
      for_each_tensor(arguments[i], [&](Tensor* tensor) { visit(tensor, i); });
  }
}

// The arguments of a call with other tensors in place of its operands.
class ReplacedOperands {
 public:
  // Takes over the arguments, each tensor as replace(Tensor*, parameter) gives it, in order. The
  // entries of lists are replaced too; undefined ones stay.
  template <class Replace>
  void set(const Implementation& implementation, const tenon_value* arguments, Replace&& replace) {
    for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
      tenon_value& value = values_[i] = arguments[i];
      if (value.tag == TENON_VALUE_TENSOR) {
        value.as.tensor = replace(value.as.tensor, i);
      } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
        std::vector<Tensor*>& list = lists_.emplace_back();
        list.reserve(value.length);
        for (uint32_t k = 0; k < value.length; ++k) {
          Tensor* const tensor = value.as.tensors[k];
          list.push_back(tensor == nullptr ? nullptr : replace(tensor, i));
        }
        value.as.tensors = list.data();
      }
    }
  }

  tenon_value* values() { return values_; }
  const tenon_value* values() const { return values_; }

 private:
  tenon_value values_[kMaxParameters];
  std::vector<std::vector<Tensor*>> lists_;  // the entries of the lists in `values_`
};

// Puts a tensor into a place that owns one, and releases what it held; either may be null.
inline void put(Tensor*& place, TensorRef tensor) noexcept {
  const TensorRef before = TensorRef::take(std::exchange(place, tensor.give()));
}

// Calls visit(Tensor*&) with every place of a result that holds a tensor, or may, in lists too.
template <class Visit>
void for_each_result(const Implementation& implementation, tenon_value* results, Visit&& visit) {
  for (uint32_t r = 0; r < implementation.result_count; ++r) {
    if (results[r].tag == TENON_VALUE_TENSOR) visit(results[r].as.tensor);
    if (results[r].tag != TENON_VALUE_TENSOR_LIST) continue;
    auto** tensors = const_cast<Tensor**>(results[r].as.tensors);
    for (uint32_t k = 0; k < results[r].length; ++k) visit(tensors[k]);
  }
}

}  // namespace tenon::core
