// Inputs of a Function as its forward sees them: detached handles, without history.
#pragma once

#include <boost/container/small_vector.hpp>

#include "core/autograd/typed/component_history.hpp"
#include "core/dispatch/call/operands.hpp"

namespace tenon::core {

// Elements of a call, without an allocation where it has the usual number of tensors.
template <class T>
using CallVector = boost::container::small_vector<T, 6>;

// Detached handles of a Function's inputs, each with the original that it stands for.
class DetachedInputs {
 public:
  // Inlined into its one caller, so that this file costs no call.
  [[gnu::always_inline]] DetachedInputs(const Implementation& implementation,
                                        const tenon_value* arguments) {
    size_t tensors = 0;
    for_each_operand(implementation, arguments, [&](const Tensor*) { ++tensors; });
    pairs_.reserve(tensors);
    replaced_.set(implementation, arguments,
                  [&](Tensor* tensor, uint32_t) { return detach(tensor); });
  }
  const tenon_value* values() const { return replaced_.values(); }
  bool is_original(const Tensor* tensor) const {
    for (const Pair& pair : pairs_) {
      if (pair.original == tensor) return true;
    }
    return false;
  }
  // Returns null when the tensor is not one of the aliases.
  Tensor* original(const Tensor* tensor) const {
    for (const Pair& pair : pairs_) {
      if (pair.alias.get() == tensor) return pair.original;
    }
    return nullptr;
  }
  void restore(TensorRef& tensor) const {
    if (Tensor* input = original(tensor.get())) tensor = TensorRef(input);
  }

 private:
  struct Pair {
    TensorRef alias;
    Tensor* original;
  };
  Tensor* detach(Tensor* tensor) {
    // One operand in two places stays one tensor.
    for (const Pair& pair : pairs_) {
      if (pair.original == tensor) return pair.alias.get();
    }
    pairs_.push_back({core::detach(*tensor), tensor});
    return pairs_.back().alias.get();
  }
  CallVector<Pair> pairs_;
  ReplacedOperands replaced_;
};

}  // namespace tenon::core
