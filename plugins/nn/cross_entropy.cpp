// cross_entropy: log_softmax and nll_loss in one pass, with the gradient softmax - target.
#include <algorithm>

#include "common.hpp"
#include "softmax.hpp"
#include "targets.hpp"

namespace {

using namespace nn;

// Scores as rows of classes: themselves for [classes] and [N, classes], else a copy with the
// classes last.
Tensor class_rows(const Tensor& input) {
  const int64_t rank = input.dim();
  if (rank <= 2) return dense(input);
  Shape shape, strides;
  for (int64_t i = 0; i < rank; ++i) {
    if (i == 1) continue;
    shape.push(input.shape()[i]);
    strides.push(input.strides()[i]);
  }
  shape.push(input.shape()[1]);
  strides.push(input.strides()[1]);
  return dense(tenon::alias_tensor(input, shape, strides, 0));
}
// The way back, without a copy.
Tensor classes_second(const Tensor& rows, IntList shape) {
  if (shape.size() <= 2) return rows;
  Shape strides;
  strides.push(rows.strides()[0]);
  strides.push(1);
  for (int64_t i = 1; i + 1 < rows.dim(); ++i) strides.push(rows.strides()[i]);
  return tenon::alias_tensor(rows, shape, strides, 0);
}

bool is_probabilities(const Tensor& input, const Tensor& target) {
  return tenon::is_floating(target.dtype()) && kernel::same_shape(input.shape(), target.shape());
}
int64_t class_dim(const Tensor& input) { return input.dim() == 1 ? 0 : 1; }
// The divisor of a mean: the distributions in the scores, also where they have no classes.
double distributions(const Tensor& input) {
  double count = 1;
  for (int64_t i = 0; i < input.dim(); ++i) {
    if (i != class_dim(input)) count *= static_cast<double>(input.shape()[i]);
  }
  return count;
}

// ---- targets that are probabilities: by ops ----

// The target smoothed and weighted.
Tensor weighted_target(const Tensor& input, const Tensor& target, const Tensor& weight,
                       double smoothing) {
  const int64_t dim = class_dim(input);
  Tensor q = target;
  if (smoothing != 0) q = q * (1 - smoothing) + smoothing / static_cast<double>(input.size(dim));
  if (!weight.defined()) return q;
  Shape shape;
  for (int64_t i = 0; i < input.dim(); ++i) shape.push(i == dim ? weight.numel() : 1);
  return q * weight.reshape(IntList(shape));
}
Tensor probability_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                        std::string_view reduction, double smoothing) {
  const int64_t dim = class_dim(input);
  const Tensor q = weighted_target(input, target, weight, smoothing);
  const Tensor losses =
      -product_or_zero(q, tenon::nn::functional::log_softmax(input, dim)).sum(dim);
  switch (parse_reduction("cross_entropy", reduction)) {
    case Reduction::none:
      return losses;
    case Reduction::sum:
      return losses.sum();
    default:
      return losses.sum() / distributions(input);
  }
}
// The gradient of the losses, spread over the classes and divided as the mean was.
Tensor spread_gradient(const Tensor& g, const Tensor& input, std::string_view reduction) {
  const int64_t dim = class_dim(input);
  if (reduction == "none") return g.unsqueeze(dim);
  return reduction == "mean" ? g / distributions(input) : g;
}

struct CrossEntropy {
  static constexpr auto schema =
      "nn.functional.cross_entropy(Tensor input, Tensor target, Tensor? weight=None, *, int "
      "ignore_index=-100, "
      "str reduction='mean', float label_smoothing=0) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "target": {"values": [2, 0], "dtype": "i64"}},
          {"input": {"shape": [2, 3]}, "target": {"values": [2, 0], "dtype": "i64"},
           "weight": {"shape": [3], "low": 0.1, "high": 2, "requires_grad": false}, "label_smoothing": 0.1},
          {"input": {"shape": [2, 3]}, "target": {"values": [2, 0], "dtype": "i64"}, "ignore_index": 2},
          {"input": {"shape": [2, 3]}, "target": {"shape": [2, 3], "low": 0.1, "high": 0.9}, "reduction": "sum"},
          {"input": {"shape": [2, 3, 2]}, "target": {"shape": [2, 2], "dtype": "i64"}, "reduction": "none"}])";
  static constexpr auto doc =
      "The cross entropy between scores and targets, which are class indices or probabilities of "
      "the scores' shape.";
  static constexpr auto saves = "input, target, weight";

  static Tensor forward(const Tensor& input, const Tensor& target, const Tensor& weight,
                        int64_t ignore_index, std::string_view reduction, double label_smoothing) {
    check_floating("cross_entropy", "input", input);
    if (is_probabilities(input, target)) {
      check_smoothing("cross_entropy", label_smoothing);
      if (weight.defined())
        check_class_weight("cross_entropy", weight, input.size(class_dim(input)));
      return probability_loss(input, target, weight, reduction, label_smoothing);
    }
    const Targets targets("cross_entropy", input.shape(), input.dtype(), target, weight,
                          ignore_index, reduction, label_smoothing);
    const Tensor rows = class_rows(input);
    Tensor result;
    visit_floating(input.dtype(), [&](auto zero) { result = loss<decltype(zero)>(targets, rows); });
    return result;
  }

  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<CrossEntropy>& c, const Tensor& g) {
    check_constant_weight("cross_entropy", c.needs_input_grad("weight"_arg));
    const Tensor &input = c["input"_arg], &target = c["target"_arg], &weight = c["weight"_arg];
    const auto reduction = c["reduction"_arg];
    const auto smoothing = c["label_smoothing"_arg];
    if (!is_probabilities(input, target)) {
      return {tenon::nn::grad::cross_entropy(g, input, target, weight, c["ignore_index"_arg],
                                             reduction, smoothing),
              Tensor(), Tensor()};
    }
    const int64_t dim = class_dim(input);
    const Tensor spread = spread_gradient(g, input, reduction);
    Tensor for_input, for_target;
    if (c.needs_input_grad("input"_arg)) {
      const Tensor q = weighted_target(input, target, weight, smoothing);
      for_input = spread * (tenon::nn::functional::softmax(input, dim) * q.sum(dim, true) - q);
    }
    if (c.needs_input_grad("target"_arg)) {
      const Tensor by = spread * weighted_target(input, tenon::ones_like(target), weight, 0);
      for_target =
          product_or_zero(by, tenon::nn::functional::log_softmax(input, dim)) * (smoothing - 1);
    }
    return {std::move(for_input), std::move(for_target), Tensor()};
  }

  static Tensor jvp(ContextOf<CrossEntropy>& c, TensorList t) {
    check_constant_weight("cross_entropy", t[2].defined());
    const Tensor &input = c["input"_arg], &target = c["target"_arg], &weight = c["weight"_arg];
    const auto reduction = c["reduction"_arg];
    const auto smoothing = c["label_smoothing"_arg];
    const int64_t dim = class_dim(input);
    Tensor change;  // change of log_softmax(input)
    if (t[0].defined())
      change = t[0] - (tenon::nn::functional::softmax(input, dim) * t[0]).sum(dim, true);
    if (!is_probabilities(input, target)) {
      return tenon::nn::grad::smoothed_nll_loss(change, target, weight, c["ignore_index"_arg],
                                                reduction, smoothing);
    }
    Tensor terms;
    if (change.defined()) terms = weighted_target(input, target, weight, smoothing) * change;
    if (t[1].defined()) {
      terms = plus(terms, product_or_zero(weighted_target(input, t[1], weight, 0),
                                          tenon::nn::functional::log_softmax(input, dim)) *
                              (1 - smoothing));
    }
    const Tensor losses = -terms.sum(dim);
    if (reduction == "none") return losses;
    return reduction == "sum" ? losses.sum() : losses.sum() / distributions(input);
  }

 private:
  template <class T>
  static Tensor loss(const Targets& targets, const Tensor& rows) {
    const int64_t classes = targets.classes, count = targets.count();
    const T* scores = kernel::elements<const T>(rows);
    const T* weights = targets.weights.defined() ? targets.weights.data<const T>() : nullptr;
    const T sharp = static_cast<T>(1 - targets.smoothing), share = targets.share<T>();
    // Small runs stay on the stack.
    T near[2 * 256];
    Tensor far;
    T* maxima = near;
    if (count > 256) {
      far = tenon::empty_tensor({2 * count}, rows.dtype());
      maxima = far.data<T>();
    }
    T* log_sums = maxima + count;
    if (classes > 0) {
      kernel::for_rows(count, classes, [&](int64_t begin, int64_t end) {
        kernel::run_by_registers<RowsOf<LogSumRows, T>::template By>(
            scores + begin * classes, end - begin, classes, maxima + begin, log_sums + begin);
      });
    }
    return reduce_losses<T>(targets, rows.dtype(), [&](int64_t i) {
      const T* row = scores + i * classes;
      const T shifted = row[targets.index[i]] - maxima[i];
      T sum = product_or_zero(sharp * targets.weight_of<T>(i), log_sums[i] - shifted);
      if (share != 0) {
        T all = 0;
        for (int64_t k = 0; k < classes; ++k) {
          all += product_or_zero(weights == nullptr ? T{1} : weights[k],
                                 log_sums[i] - (row[k] - maxima[i]));
        }
        sum += share * all;
      }
      return sum;
    });
  }
};

// One block of rows of the gradient: factor * (total * softmax - target).
template <class T, int Bytes>
struct GradientRows {
  TENON_INLINE static void run(const T* x, T* to, const int64_t* index, int64_t rows,
                               int64_t classes, const T* softmax_factors, const T* target_factors) {
    T sums[kBlock];
    const int64_t step = rows_in_block(classes);
    for (int64_t r = 0; r < rows; r += step) {
      const int64_t count = std::min(step, rows - r);
      T* block = to + r * classes;
      ExpRows<T, Bytes>::run(x + r * classes, block, count, classes, sums, nullptr);
      for (int64_t k = 0; k < count; ++k, block += classes) {
        const T factor = softmax_factors[r + k] / sums[k];
        if (softmax_factors[r + k] == 0) {  // ignored: no gradient, whatever the scores
          for (int64_t i = 0; i < classes; ++i) block[i] = 0;
          continue;
        }
        TENON_INDEPENDENT
        for (int64_t i = 0; i < classes; ++i) block[i] *= factor;
        if (target_factors[r + k] != 0) block[index[r + k]] -= target_factors[r + k];
      }
    }
  }
};

struct CrossEntropyGrad {
  static constexpr auto schema =
      "nn.grad.cross_entropy(Tensor grad_output, Tensor input, Tensor target, Tensor? weight=None, "
      "*, "
      "int ignore_index=-100, str reduction='mean', float label_smoothing=0) -> Tensor";
  static constexpr auto samples =
      R"([{"grad_output": {"shape": []}, "input": {"shape": [2, 3]}, "target": {"values": [2, 0], "dtype": "i64"}},
          {"grad_output": {"shape": []}, "input": {"shape": [2, 3]}, "target": {"values": [2, 0], "dtype": "i64"},
           "weight": {"shape": [3], "low": 0.1, "high": 2, "requires_grad": false}, "label_smoothing": 0.1}])";
  static constexpr auto doc =
      "The gradient of cross_entropy with respect to its input, for class-index targets.";
  static constexpr auto saves = "grad_output for input, input, target, weight";

  static Tensor forward(const Tensor& grad_output, const Tensor& input, const Tensor& target,
                        const Tensor& weight, int64_t ignore_index, std::string_view reduction,
                        double label_smoothing) {
    check_floating("cross_entropy", "input", input);
    check_same_dtype("cross_entropy", "grad_output", grad_output, "input", input);
    const Targets targets("cross_entropy", input.shape(), input.dtype(), target, weight,
                          ignore_index, reduction, label_smoothing);
    const int64_t expected = targets.reduction == Reduction::none ? targets.count() : 1;
    if (grad_output.numel() != expected) {
      throw tenon::ValueError("cross_entropy(): 'grad_output' must have " +
                              std::to_string(expected) + " elements, got shape " +
                              shape_text(grad_output));
    }
    const Tensor rows = class_rows(input), g = dense(grad_output);
    Tensor result = tenon::empty_tensor(rows.shape(), rows.dtype());
    if (result.numel() > 0) {
      visit_floating(input.dtype(),
                     [&](auto zero) { gradient<decltype(zero)>(targets, g, rows, result); });
    }
    return classes_second(result, input.shape());
  }

  // With z = v - <softmax, v>, <v, gradient> is the loss's derivative along v, a linear function L
  // of z scaled by grad_output; its transpose is the gradient of nll_loss.
  static std::tuple<Tensor, Tensor, Tensor, Tensor> backward(ContextOf<CrossEntropyGrad>& c,
                                                             const Tensor& v) {
    check_constant_weight("cross_entropy", c.needs_input_grad("weight"_arg));
    const Tensor &input = c["input"_arg], &target = c["target"_arg], &weight = c["weight"_arg];
    const auto ignore_index = c["ignore_index"_arg];
    const auto reduction = c["reduction"_arg];
    const auto smoothing = c["label_smoothing"_arg];
    const int64_t dim = class_dim(input);
    const Tensor p = tenon::nn::functional::softmax(input, dim);
    const Tensor z = v - (p * v).sum(dim, true);
    Tensor for_grad, for_input;
    if (c.needs_input_grad("grad_output"_arg)) {
      for_grad =
          tenon::nn::grad::smoothed_nll_loss(z, target, weight, ignore_index, reduction, smoothing);
    }
    if (c.needs_input_grad("input"_arg)) {
      const Tensor spread = tenon::nn::grad::nll_loss(
          c["grad_output"_arg], target, weight, input.shape(), ignore_index, reduction, smoothing);
      for_input = -(spread.sum(dim, true) * p * z);
    }
    return {std::move(for_grad), std::move(for_input), Tensor(), Tensor()};
  }
  static Tensor jvp(ContextOf<CrossEntropyGrad>& c, TensorList t) {
    check_constant_weight("cross_entropy", t[3].defined());
    const Tensor &input = c["input"_arg], &target = c["target"_arg], &weight = c["weight"_arg];
    const auto ignore_index = c["ignore_index"_arg];
    const auto reduction = c["reduction"_arg];
    const auto smoothing = c["label_smoothing"_arg];
    const int64_t dim = class_dim(input);
    Tensor tangent;
    if (t[0].defined()) {
      tangent = tenon::nn::grad::cross_entropy(t[0], input, target, weight, ignore_index, reduction,
                                               smoothing);
    }
    if (t[1].defined()) {
      const Tensor p = tenon::nn::functional::softmax(input, dim);
      const Tensor z = t[1] - (p * t[1]).sum(dim, true);
      const Tensor spread = tenon::nn::grad::nll_loss(
          c["grad_output"_arg], target, weight, input.shape(), ignore_index, reduction, smoothing);
      tangent = plus(tangent, -(spread.sum(dim, true) * p * z));
    }
    return tangent;
  }

 private:
  template <class T>
  static void gradient(const Targets& targets, const Tensor& grad_output, const Tensor& rows,
                       const Tensor& result) {
    const int64_t classes = targets.classes, count = targets.count();
    const T* g = grad_output.data<const T>();
    const T* scores = rows.data<const T>();
    const T* weights = targets.weights.defined() ? targets.weights.data<const T>() : nullptr;
    T* to = result.data<T>();
    const T scale = targets.scale<T>(), sharp = static_cast<T>(1 - targets.smoothing),
            share = targets.share<T>();
    T near[2 * 256];
    Tensor far;
    T* softmax_factors = near;
    if (count > 256) {
      far = tenon::empty_tensor({2 * count}, rows.dtype());
      softmax_factors = far.data<T>();
    }
    T* target_factors = softmax_factors + count;
    for (int64_t i = 0; i < count; ++i) {
      const bool ignored = targets.index[i] == targets.ignore_index;
      const T factor = ignored ? T{0} : scale * g[targets.reduction == Reduction::none ? i : 0];
      softmax_factors[i] = ignored ? T{0} : factor * targets.total<T>(i);
      target_factors[i] = ignored ? T{0} : factor * sharp * targets.weight_of<T>(i);
    }
    kernel::for_rows(count, classes, [&](int64_t begin, int64_t end) {
      kernel::run_by_registers<RowsOf<GradientRows, T>::template By>(
          scores + begin * classes, to + begin * classes, targets.index + begin, end - begin,
          classes, softmax_factors + begin, target_factors + begin);
      if (share == 0) return;
      for (int64_t i = begin; i < end; ++i) {
        if (targets.index[i] == targets.ignore_index) continue;
        const T factor = scale * g[targets.reduction == Reduction::none ? i : 0] * share;
        for (int64_t k = 0; k < classes; ++k)
          to[i * classes + k] -= factor * (weights == nullptr ? T{1} : weights[k]);
      }
    });
  }
};

}  // namespace
TENON_OPS(CrossEntropy, CrossEntropyGrad)
