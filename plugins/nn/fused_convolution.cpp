// conv2d_fused: a convolution with what models do with its result, for prepared models; and what rewrites
// write constants by.
#include "common.hpp"
#include "shared_ops/activation.hpp"
#include "shared_ops/convolution.hpp"

namespace {

using namespace nn;

struct Conv2dFused {
  static constexpr auto schema =
      "nn.functional.conv2d_fused(Tensor input, Tensor weight, " NN_FUSED_PARAMETERS ") -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 2, 4, 3]}, "weight": {"shape": [3, 2, 2, 2]}, "bias": {"shape": [3]},
           "addend": {"shape": [2, 3, 3, 2]}, "activation": "silu"},
          {"input": {"shape": [2, 4, 4]}, "weight": {"shape": [2, 1, 2, 2]}, "groups": 2, "stride": 2, "padding": 1,
           "activation": "hardsigmoid", "alpha": 0.2, "beta": 0.5, "scale": 2, "shift": -0.5},
          {"input": {"shape": [1, 2, 4, 4]}, "weight": {"shape": [2, 2, 3, 3]}, "padding": 1, "activation": "leaky_relu",
           "alpha": 0.1}])";
  static constexpr auto doc =
      "conv2d, plus addend, of the result's shape, then an activation, times scale plus shift. "
      "activation is 'none', 'relu', 'leaky_relu' (slope alpha), 'clip' (from alpha to beta), "
      "'sigmoid', 'tanh', 'silu', 'hardswish' or 'hardsigmoid' (alpha * x + beta, cut to 0 and 1). "
      "Rewrites of prepared models make it of the ops one by one.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Tensor& addend, std::string_view activation, double alpha,
                        double beta, double scale, double shift, IntList stride,
                        const Argument& padding, IntList dilation, int64_t groups) {
    static const tenon::Op tail("nn.functional.conv2d_tail");
    const Activation given("conv2d_fused", activation, alpha, beta, scale, shift);
    auto y =
        tail.call<Tensor>(input, weight, bias, Tensor(), Tensor(), addend,
                          given.kind == Activation::Kind::relu, stride, padding, dilation, groups);
    y = activated(y, given);
    if (given.scale != 1) y = y * given.scale;
    return given.shift == 0 ? y : y + given.shift;
  }
};

struct BatchNormFactor {
  static constexpr auto schema =
      "nn.functional.batch_norm_factor(Tensor running_var, Tensor? weight=None, float eps=1e-5) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"running_var": {"shape": [3], "low": 0.5, "high": 2}, "weight": {"shape": [3]}},
          {"running_var": {"shape": [2], "low": 0.5, "high": 2}, "eps": 0.1}])";
  static constexpr auto doc =
      "The factor of each channel by which batch_norm multiplies in eval mode: weight / "
      "sqrt(running_var + eps).";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& running_var, const Tensor& weight, double eps) {
    check_floating("batch_norm_factor", "running_var", running_var);
    const Tensor factor = (running_var + eps).rsqrt();
    return weight.defined() ? factor * weight : factor;
  }
};

struct BatchNormTerm {
  static constexpr auto schema =
      "nn.functional.batch_norm_term(Tensor running_mean, Tensor factor, Tensor? bias=None, "
      "Tensor? before=None) -> Tensor";
  static constexpr auto samples =
      R"([{"running_mean": {"shape": [3]}, "factor": {"shape": [3]}, "bias": {"shape": [3]}, "before": {"shape": [3]}},
          {"running_mean": {"shape": [2]}, "factor": {"shape": [2]}}])";
  static constexpr auto doc =
      "The term of each channel that batch_norm adds in eval mode: bias - running_mean * factor. "
      "`before` is the bias of the layer in front of it: (before - running_mean) * factor + bias.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& running_mean, const Tensor& factor, const Tensor& bias,
                        const Tensor& before) {
    check_floating("batch_norm_term", "running_mean", running_mean);
    const Tensor term = (before.defined() ? before - running_mean : -running_mean) * factor;
    return bias.defined() ? term + bias : term;
  }
};

struct ScaleFeatures {
  static constexpr auto schema =
      "nn.functional.scale_features(Tensor weight, Tensor factor) -> Tensor";
  static constexpr auto samples =
      R"([{"weight": {"shape": [3, 2, 2]}, "factor": {"shape": [3]}},
          {"weight": {"shape": [2, 2, 1, 1]}, "factor": {"shape": [1]}}])";
  static constexpr auto doc =
      "weight [features, ...] times factor, a number for each feature or one for all, of any "
      "shape.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& weight, const Tensor& factor) {
    check_floating("scale_features", "weight", weight);
    check_same_dtype("scale_features", "weight", weight, "factor", factor);
    if (weight.dim() < 1 || (factor.numel() != 1 && factor.numel() != weight.shape()[0])) {
      throw tenon::ValueError(
          "scale_features(): 'factor' must have one element, or one for each feature of a weight "
          "of shape " +
          shape_text(weight) + ", got shape " + shape_text(factor));
    }
    std::vector<int64_t> shape(static_cast<size_t>(weight.dim()), 1);
    shape[0] = factor.numel();
    return weight * factor.reshape(shape);
  }
};

struct ShiftFeatures {
  static constexpr auto schema =
      "nn.functional.shift_features(Tensor? bias, Tensor weight, Tensor? factor=None, Tensor? "
      "term=None) -> Tensor";
  static constexpr auto samples =
      R"([{"bias": {"shape": [3]}, "weight": {"shape": [3, 2]}, "factor": {"shape": [1]}, "term": {"shape": [3, 1]}},
          {"bias": null, "weight": {"shape": [2, 1]}, "term": {"shape": [1]}}])";
  static constexpr auto doc =
      "The bias of a layer of that weight whose results are multiplied by factor and to which term "
      "is added, each a number for each feature or one for all, of any shape: bias * factor + "
      "term, a bias of 0 where there is none.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& bias, const Tensor& weight, const Tensor& factor,
                        const Tensor& term) {
    check_floating("shift_features", "weight", weight);
    if (weight.dim() < 1) throw tenon::ValueError("shift_features(): 'weight' has no dimension");
    const int64_t features = weight.shape()[0];
    const auto flat = [&](const char* name, const Tensor& tensor) {
      check_same_dtype("shift_features", "weight", weight, name, tensor);
      if (tensor.numel() != 1 && tensor.numel() != features) {
        throw tenon::ValueError("shift_features(): '" + std::string(name) +
                                "' must have one element, or one for each of " +
                                std::to_string(features) + " features, got shape " +
                                shape_text(tensor));
      }
      return tensor.reshape({tensor.numel()});
    };
    Tensor result = bias.defined() ? flat("bias", bias) : tenon::zeros({features}, weight.dtype());
    if (factor.defined()) result = result * flat("factor", factor);
    return term.defined() ? result + flat("term", term) : result;
  }
};

}  // namespace
TENON_OPS(Conv2dFused, BatchNormFactor, BatchNormTerm, ScaleFeatures, ShiftFeatures)
