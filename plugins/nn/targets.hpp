// Class-index targets of nll_loss and cross_entropy: shapes, weights and reductions, checked once.
#pragma once

#include <vector>

#include "common.hpp"

namespace nn {

// Targets of classification losses, prepared for kernels. Element (batch, class, inner) of the
// scores belongs to target (batch, inner).
struct Targets {
  Targets(const char* op, IntList scores, DType dtype, const Tensor& target, const Tensor& weight,
          int64_t ignored, std::string_view reduction_name, double label_smoothing);

  int64_t count() const { return batch * inner; }
  // IndexError unless it is ignored or a class.
  void check(const char* op, int64_t position) const;
  // The weight of target `i`, 0 when it is ignored.
  template <class T>
  T weight_of(int64_t i) const {
    const int64_t at = index[i];
    return at == ignore_index  ? T{0}
           : weights.defined() ? kernel::elements<const T>(weights)[at]
                               : T{1};
  }
  // The scale of a target's gradient: 1 / the sum of weights for a mean, else 1.
  template <class T>
  T scale() const {
    if (reduction != Reduction::mean) return T{1};
    double sum = 0;
    for (int64_t i = 0; i < count(); ++i) sum += static_cast<double>(weight_of<T>(i));
    return static_cast<T>(1.0 / sum);
  }
  // The share of each class in a smoothed target, before weights.
  template <class T>
  T share() const {
    return static_cast<T>(smoothing / static_cast<double>(classes));
  }
  // The sum over classes of a smoothed target that is not ignored.
  template <class T>
  T total(int64_t i) const {
    return static_cast<T>(1 - smoothing) * weight_of<T>(i) +
           share<T>() * static_cast<T>(weight_sum);
  }
  IntList target_shape() const { return targets.shape(); }

  int64_t batch = 1, classes = 1, inner = 1;
  int64_t ignore_index;
  Reduction reduction;
  double smoothing;
  double weight_sum = 0;  // over all classes
  const int64_t* index = nullptr;
  Tensor targets, weights;  // kept alive; weights in the scores' dtype
};

void check_smoothing(const char* op, double label_smoothing);
void check_class_weight(const char* op, const Tensor& weight, int64_t classes);

// Class weights are constants: asking for their gradient is refused, never answered by none.
inline void check_constant_weight(const char* op, bool differentiated) {
  if (differentiated) {
    throw tenon::NotImplementedError(std::string(op) +
                                     "(): 'weight' requires grad, expected a constant; detach it");
  }
}

// weight * loss; without a weight nothing is read, also of an infinite loss.
template <class T>
T product_or_zero(T weight, T loss) {
  return weight == 0 ? T{0} : weight * loss;
}

// The result of a reduction over per-target losses that `loss(i)` gives; ignored ones count as 0.
template <class T, class Loss>
Tensor reduce_losses(const Targets& targets, DType dtype, const Loss& loss) {
  const int64_t count = targets.count();
  if (targets.reduction == Reduction::none) {
    Tensor result = tenon::empty_tensor(targets.target_shape(), dtype);
    T* to = result.data<T>();
    for (int64_t i = 0; i < count; ++i)
      to[i] = targets.index[i] == targets.ignore_index ? T{0} : loss(i);
    return result;
  }
  double sum = 0, weight = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (targets.index[i] == targets.ignore_index) continue;
    sum += static_cast<double>(loss(i));
    weight += static_cast<double>(targets.weight_of<T>(i));
  }
  Tensor result = tenon::empty_tensor({}, dtype);
  *result.data<T>() = static_cast<T>(targets.reduction == Reduction::mean ? sum / weight : sum);
  return result;
}

}  // namespace nn
