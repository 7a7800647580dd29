// binary_cross_entropy, of probabilities, and binary_cross_entropy_with_logits.
#include "common.hpp"

namespace {

using namespace nn;

// A logarithm below this counts as this, as PyTorch has it, so that a certain mistake has a finite
// loss; and a variance below that has its gradient.
constexpr double kLeastLog = -100, kLeastVariance = 1e-12;

// The first element that is not a probability, NaN included.
void check_probabilities(const Tensor& input) {
  const Tensor whole = dense(input);
  visit_floating(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* p = kernel::elements<const T>(whole);
    for (int64_t i = 0; i < whole.numel(); ++i) {
      if (p[i] >= 0 && p[i] <= 1) continue;
      throw tenon::ValueError(
          "binary_cross_entropy(): the elements of 'input' must be from 0 to 1, got " +
          tenon::Scalar(static_cast<double>(p[i])).text() + " at position " + std::to_string(i) +
          "; binary_cross_entropy_with_logits() takes any number");
    }
  });
}

// The loss of each element and its derivatives, by ops.
Tensor log_of(const Tensor& p) { return p.log().clamp(kLeastLog); }
Tensor log_of_rest(const Tensor& p) { return (-p).log1p().clamp(kLeastLog); }
Tensor loss_of(const Tensor& p, const Tensor& t) {
  return (t - 1) * log_of_rest(p) - t * log_of(p);
}
Tensor slope_of(const Tensor& p, const Tensor& t) {
  return (p - t) / (p * (1 - p)).clamp(kLeastVariance);
}
Tensor target_slope_of(const Tensor& p) { return log_of_rest(p) - log_of(p); }
Tensor weighted(const Tensor& tensor, const Tensor& weight) {
  return weight.defined() ? tensor * weight : tensor;
}

void check_weight(const char* op, const char* name, const Tensor& input, const Tensor& weight) {
  if (!weight.defined()) return;
  const IntList to = input.shape(), from = weight.shape();
  bool fits = from.size() <= to.size();
  for (int64_t i = 1; fits && i <= from.size(); ++i)
    fits = from[from.size() - i] == 1 || from[from.size() - i] == to[to.size() - i];
  if (!fits) {
    throw tenon::ValueError(std::string(op) + "(): '" + name + "' of shape " + shape_text(weight) +
                            " cannot be broadcast to the shape of 'input', " + shape_text(input));
  }
  check_same_dtype(op, "input", input, name, weight);
}
void check_operands(const char* op, const Tensor& input, const Tensor& target) {
  check_floating(op, "input", input);
  check_same_dtype(op, "input", input, "target", target);
  kernel::check_same_shape(op, "input", input, "target", target);
}

struct BinaryCrossEntropy {
  static constexpr auto schema =
      "nn.functional.binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, *, str "
      "reduction='mean') -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "low": 0.1, "high": 0.9}, "target": {"shape": [2, 3], "low": 0, "high": 1}},
          {"input": {"shape": [2, 3], "low": 0.1, "high": 0.9}, "target": {"shape": [2, 3], "low": 0, "high": 1},
           "weight": {"shape": [3]}, "reduction": "none"},
          {"input": {"shape": [4], "low": 0.1, "high": 0.9}, "target": {"shape": [4], "low": 0, "high": 1},
           "weight": {"shape": [4]}, "reduction": "sum"}])";
  static constexpr auto doc =
      "-weight * (target * log(input) + (1 - target) * log(1 - input)) of each element: their "
      "mean, their sum, or all of them. The elements of input must be from 0 to 1; logarithms "
      "below -100 count as -100. weight is broadcast.";
  static constexpr auto saves = "input, target, weight";

  static Tensor forward(const Tensor& input, const Tensor& target, const Tensor& weight,
                        std::string_view reduction) {
    const Reduction how = parse_reduction("binary_cross_entropy", reduction);
    check_operands("binary_cross_entropy", input, target);
    check_weight("binary_cross_entropy", "weight", input, weight);
    check_probabilities(input);
    return reduce(weighted(loss_of(input, target), weight), how);
  }
  static std::array<Tensor, 3> backward(ContextOf<BinaryCrossEntropy>& c, const Tensor& g) {
    const Tensor &p = c["input"_arg], &t = c["target"_arg], &weight = c["weight"_arg];
    const bool mean = c["reduction"_arg] == "mean";
    const Tensor share = mean ? g / static_cast<double>(p.numel()) : g;
    return needed_gradients(
        c, "input"_arg = [&] { return weighted(share * slope_of(p, t), weight); },
        "target"_arg = [&] { return weighted(share * target_slope_of(p), weight); },
        "weight"_arg = [&] { return (share * loss_of(p, t)).sum_to_size(weight.shape()); });
  }
  static Tensor jvp(ContextOf<BinaryCrossEntropy>& c, TensorList tangents) {
    const Tensor &p = c["input"_arg], &t = c["target"_arg], &weight = c["weight"_arg];
    Tensor tangent;
    if (tangents[0].defined()) tangent = weighted(tangents[0] * slope_of(p, t), weight);
    if (tangents[1].defined())
      tangent = plus(tangent, weighted(tangents[1] * target_slope_of(p), weight));
    if (tangents[2].defined()) tangent = plus(tangent, tangents[2] * loss_of(p, t));
    return reduce(tangent, parse_reduction("binary_cross_entropy", c["reduction"_arg]));
  }
};

struct BinaryCrossEntropyWithLogits {
  static constexpr auto schema =
      "nn.functional.binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? "
      "weight=None, *, str reduction='mean', Tensor? pos_weight=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "target": {"shape": [2, 3], "low": 0, "high": 1}},
          {"input": {"shape": [2, 3]}, "target": {"shape": [2, 3], "low": 0, "high": 1},
           "weight": {"shape": [2, 1]}, "pos_weight": {"shape": [3]}, "reduction": "sum"}])";
  static constexpr auto doc =
      "binary_cross_entropy of the sigmoid of input, which may be any number; pos_weight, which is "
      "broadcast as weight is, multiplies the part of target.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& target, const Tensor& weight,
                        std::string_view reduction, const Tensor& pos_weight) {
    constexpr auto op = "binary_cross_entropy_with_logits";
    const Reduction how = parse_reduction(op, reduction);
    check_operands(op, input, target);
    check_weight(op, "weight", input, weight);
    check_weight(op, "pos_weight", input, pos_weight);
    // Two logarithms, neither of which is a difference: that of a large input would be 0 or NaN.
    const Tensor log = tenon::nn::functional::logsigmoid(input),
                 log_of_rest = tenon::nn::functional::logsigmoid(-input);
    const Tensor positive = weighted(target, pos_weight);
    const Tensor losses = product_or_zero(target - 1, log_of_rest) - product_or_zero(positive, log);
    return reduce(weighted(losses, weight), how);
  }
};

}  // namespace
TENON_OPS(BinaryCrossEntropy, BinaryCrossEntropyWithLogits)
