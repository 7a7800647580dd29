// mse_loss, l1_loss and the two between them, huber_loss and smooth_l1_loss: differences, reduced.
#include "common.hpp"

namespace {

using namespace nn;

// input - target, both broadcast before dtypes are chosen: a 0-dim operand counts like any other.
Tensor difference(const char* op, const Tensor& input, const Tensor& target) {
  const Shape shape = broadcast_shape(op, "input", input, "target", target);
  warn_of_broadcast(op, input, target, IntList(shape));
  if (input.dtype() == target.dtype()) return input - target;
  return input.expand(IntList(shape)) - target.expand(IntList(shape));
}

struct MseLoss {
  static constexpr auto schema =
      "nn.functional.mse_loss(Tensor input, Tensor target, *, str reduction='mean') -> Tensor";
  static constexpr auto doc =
      "The squared differences of input and target: their mean, their sum, or all of them.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& target, std::string_view reduction) {
    const Reduction how = parse_reduction("mse_loss", reduction);
    return reduce(difference("mse_loss", input, target).square(), how);
  }
};

struct L1Loss {
  static constexpr auto schema =
      "nn.functional.l1_loss(Tensor input, Tensor target, *, str reduction='mean') -> Tensor";
  static constexpr auto doc =
      "The absolute differences of input and target: their mean, their sum, or all of them. The "
      "gradient is 0 where both are equal.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& target, std::string_view reduction) {
    const Reduction how = parse_reduction("l1_loss", reduction);
    return reduce(difference("l1_loss", input, target).abs(), how);
  }
};

// |d| (|d| - half of it), where |d| is cut to `limit`: d^2 / 2 up to there, a line from there on.
// Without a branch, so that an infinite difference leaves no NaN in gradients.
Tensor huber(const Tensor& difference, double limit) {
  const Tensor size = difference.abs();
  const Tensor cut = size.clamp(tenon::none, limit);
  return cut * (size - cut * 0.5);
}
[[noreturn]] void refuse_limit(const char* op, const char* name, const char* range, double found) {
  throw tenon::ValueError(std::string(op) + "(): " + name + " must be " + range + ", got " +
                          tenon::Scalar(found).text());
}

struct HuberLoss {
  static constexpr auto schema =
      "nn.functional.huber_loss(Tensor input, Tensor target, *, str reduction='mean', float "
      "delta=1) -> Tensor";
  static constexpr auto doc =
      "d^2 / 2 for differences d of input and target up to delta, delta * (|d| - delta / 2) for "
      "larger ones: their mean, their sum, or all of them. delta must be above 0.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& target, std::string_view reduction,
                        double delta) {
    const Reduction how = parse_reduction("huber_loss", reduction);
    if (!(delta > 0)) refuse_limit("huber_loss", "delta", "above 0", delta);
    check_floating("huber_loss", "input", input);
    return reduce(huber(difference("huber_loss", input, target), delta), how);
  }
};

struct SmoothL1Loss {
  static constexpr auto schema =
      "nn.functional.smooth_l1_loss(Tensor input, Tensor target, *, str reduction='mean', float "
      "beta=1) -> Tensor";
  static constexpr auto doc =
      "d^2 / (2 * beta) for differences d of input and target up to beta, |d| - beta / 2 for "
      "larger ones: their mean, their sum, or all of them. With beta 0 it is l1_loss.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& target, std::string_view reduction,
                        double beta) {
    const Reduction how = parse_reduction("smooth_l1_loss", reduction);
    if (!(beta >= 0)) refuse_limit("smooth_l1_loss", "beta", "0 or more", beta);
    check_floating("smooth_l1_loss", "input", input);
    const Tensor d = difference("smooth_l1_loss", input, target);
    return reduce(beta == 0 ? d.abs() : huber(d, beta) / beta, how);
  }
};

}  // namespace
TENON_OPS(MseLoss, L1Loss, HuberLoss, SmoothL1Loss)
