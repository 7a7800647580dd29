// nll_loss: the negative log-probability of the right class; with its transpose, which both losses
// over classes share.
#include "targets.hpp"

namespace {

using namespace nn;

// Targets have no gradient.
using Three = std::tuple<Tensor, Tensor, Tensor>;
template <class Op>
Three only_first(ContextOf<Op>& c, Tensor gradient) {
  check_constant_weight("nll_loss", c.needs_input_grad("weight"_arg));
  return {std::move(gradient), Tensor(), Tensor()};
}

// loss(target i) = - sum over classes of q * score, where q is the weighted and smoothed target.
Tensor loss_of(const char* op, const Tensor& input, const Tensor& target, const Tensor& weight,
               int64_t ignore_index, std::string_view reduction, double smoothing) {
  check_floating(op, "input", input);
  const Targets targets(op, input.shape(), input.dtype(), target, weight, ignore_index, reduction,
                        smoothing);
  const Tensor whole = dense(input);
  Tensor result;
  visit_floating(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* scores = kernel::elements<const T>(whole);
    const T* weights = targets.weights.defined() ? targets.weights.data<const T>() : nullptr;
    const T sharp = static_cast<T>(1 - smoothing), share = targets.template share<T>();
    result = reduce_losses<T>(targets, input.dtype(), [&](int64_t i) {
      const T* row =
          scores + i / targets.inner * targets.classes * targets.inner + i % targets.inner;
      T loss = -product_or_zero(sharp * targets.template weight_of<T>(i),
                                row[targets.index[i] * targets.inner]);
      if (share != 0) {
        T sum = 0;
        for (int64_t k = 0; k < targets.classes; ++k) {
          sum += product_or_zero(weights == nullptr ? T{1} : weights[k], row[k * targets.inner]);
        }
        loss -= share * sum;
      }
      return loss;
    });
  });
  return result;
}

void check_gradient_shape(const char* op, const Tensor& grad_output, const Targets& targets) {
  const IntList expected =
      targets.reduction == Reduction::none ? targets.target_shape() : IntList();
  kernel::check_shape(op, "grad_output", grad_output, expected);
}

struct NllLoss {
  static constexpr auto schema =
      "nn.functional.nll_loss(Tensor input, Tensor target, Tensor? weight=None, *, int "
      "ignore_index=-100, "
      "str reduction='mean') -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "target": {"values": [2, 0], "dtype": "i64"}},
          {"input": {"shape": [2, 3]}, "target": {"values": [2, 0], "dtype": "i64"},
           "weight": {"shape": [3], "low": 0.1, "high": 2, "requires_grad": false}, "reduction": "sum"},
          {"input": {"shape": [2, 3]}, "target": {"values": [2, 0], "dtype": "i64"}, "ignore_index": 2, "reduction": "none"}])";
  static constexpr auto doc =
      "The negative log-probability of the target class; the mean is weighted.";
  static constexpr auto saves = "shape(input), target, weight";

  static Tensor forward(const Tensor& input, const Tensor& target, const Tensor& weight,
                        int64_t ignore_index, std::string_view reduction) {
    return loss_of("nll_loss", input, target, weight, ignore_index, reduction, 0);
  }
  static Three backward(ContextOf<NllLoss>& c, const Tensor& g) {
    return only_first(
        c, tenon::nn::grad::nll_loss(g, c["target"_arg], c["weight"_arg], c["input"_arg].shape(),
                                     c["ignore_index"_arg], c["reduction"_arg], 0));
  }
  static Tensor jvp(ContextOf<NllLoss>& c, TensorList t) {
    check_constant_weight("nll_loss", t[2].defined());
    return tenon::nn::functional::nll_loss(t[0], c["target"_arg], c["weight"_arg],
                                           c["ignore_index"_arg], c["reduction"_arg]);
  }
};

struct SmoothedNllLoss {
  static constexpr auto schema =
      "nn.grad.smoothed_nll_loss(Tensor input, Tensor target, Tensor? weight=None, *, int "
      "ignore_index=-100, "
      "str reduction='mean', float label_smoothing=0) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "target": {"values": [2, 0], "dtype": "i64"}, "label_smoothing": 0.1},
          {"input": {"shape": [2, 3]}, "target": {"values": [2, 0], "dtype": "i64"},
           "weight": {"shape": [3], "low": 0.1, "high": 2, "requires_grad": false}, "label_smoothing": 0.1, "reduction": "sum"}])";
  static constexpr auto doc = "nll_loss of smoothed targets: the linear part of cross_entropy.";
  static constexpr auto saves = "shape(input), target, weight";

  static Tensor forward(const Tensor& input, const Tensor& target, const Tensor& weight,
                        int64_t ignore_index, std::string_view reduction, double label_smoothing) {
    return loss_of("smoothed_nll_loss", input, target, weight, ignore_index, reduction,
                   label_smoothing);
  }
  static Three backward(ContextOf<SmoothedNllLoss>& c, const Tensor& g) {
    return only_first(c, tenon::nn::grad::nll_loss(g, c["target"_arg], c["weight"_arg],
                                                   c["input"_arg].shape(), c["ignore_index"_arg],
                                                   c["reduction"_arg], c["label_smoothing"_arg]));
  }
  static Tensor jvp(ContextOf<SmoothedNllLoss>& c, TensorList t) {
    check_constant_weight("nll_loss", t[2].defined());
    return tenon::nn::grad::smoothed_nll_loss(t[0], c["target"_arg], c["weight"_arg],
                                              c["ignore_index"_arg], c["reduction"_arg],
                                              c["label_smoothing"_arg]);
  }
};

struct NllLossGrad {
  static constexpr auto schema =
      "nn.grad.nll_loss(Tensor grad_output, Tensor target, Tensor? weight, int[] input_size, *, "
      "int ignore_index=-100, str reduction='mean', float label_smoothing=0) -> Tensor";
  static constexpr auto doc = "The gradient of nll_loss with respect to its input.";
  static constexpr auto saves = "target, weight";

  static Tensor forward(const Tensor& grad_output, const Tensor& target, const Tensor& weight,
                        IntList input_size, int64_t ignore_index, std::string_view reduction,
                        double label_smoothing) {
    check_floating("nll_loss", "grad_output", grad_output);
    const Targets targets("nll_loss", input_size, grad_output.dtype(), target, weight, ignore_index,
                          reduction, label_smoothing);
    check_gradient_shape("nll_loss", grad_output, targets);
    const Tensor whole = dense(grad_output);
    Tensor result = tenon::empty_tensor(input_size, grad_output.dtype());
    tenon::fill_elements(result, 0);
    visit_floating(grad_output.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* g = kernel::elements<const T>(whole);
      T* to = kernel::elements<T>(result);
      const T* weights = targets.weights.defined() ? targets.weights.data<const T>() : nullptr;
      const T sharp = static_cast<T>(1 - label_smoothing), share = targets.template share<T>();
      const T scale = targets.template scale<T>();
      for (int64_t i = 0; i < targets.count(); ++i) {
        if (targets.index[i] == ignore_index) continue;
        const T factor = -scale * g[targets.reduction == Reduction::none ? i : 0];
        T* row = to + i / targets.inner * targets.classes * targets.inner + i % targets.inner;
        if (share != 0) {
          for (int64_t k = 0; k < targets.classes; ++k) {
            row[k * targets.inner] = factor * share * (weights == nullptr ? T{1} : weights[k]);
          }
        }
        row[targets.index[i] * targets.inner] += factor * sharp * targets.template weight_of<T>(i);
      }
    });
    return result;
  }
  static Three backward(ContextOf<NllLossGrad>& c, const Tensor& v) {
    return only_first(c, tenon::nn::grad::smoothed_nll_loss(
                             v, c["target"_arg], c["weight"_arg], c["ignore_index"_arg],
                             c["reduction"_arg], c["label_smoothing"_arg]));
  }
  static Tensor jvp(ContextOf<NllLossGrad>& c, TensorList t) {
    check_constant_weight("nll_loss", t[2].defined());
    return tenon::nn::grad::nll_loss(t[0], c["target"_arg], c["weight"_arg], c["input_size"_arg],
                                     c["ignore_index"_arg], c["reduction"_arg],
                                     c["label_smoothing"_arg]);
  }
};

}  // namespace
TENON_OPS(NllLoss, SmoothedNllLoss, NllLossGrad)
