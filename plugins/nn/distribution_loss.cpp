// Losses of distributions' parameters: gaussian_nll_loss, poisson_nll_loss.
#include <cmath>

#include "common.hpp"

namespace {

using namespace nn;

constexpr double kTurn = 6.28318530717958647693;

struct GaussianNllLoss {
  static constexpr auto schema =
      "nn.functional.gaussian_nll_loss(Tensor input, Tensor target, Tensor var, *, bool "
      "full=False, "
      "float eps=1e-06, str reduction='mean') -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "target": {"shape": [2, 3]}, "var": {"shape": [2, 3], "low": 0.5, "high": 2}},
          {"input": {"shape": [2, 3]}, "target": {"shape": [2, 3]}, "var": {"shape": [2, 1], "low": 0.5, "high": 2},
           "full": true, "reduction": "sum"}])";
  static constexpr auto doc =
      "0.5 (log(v) + (input - target)^2 / v), where v is var and at least eps, whose gradient "
      "passes: the negative logarithm of a normal density of mean input, with full including 0.5 "
      "log(2 pi). var broadcasts to input; a negative one is an error.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& target, const Tensor& var, bool full,
                        double eps, std::string_view reduction) {
    constexpr auto op = "gaussian_nll_loss";
    const Reduction how = parse_reduction(op, reduction);
    check_floating(op, "input", input);
    check_same_dtype(op, "input", input, "target", target);
    check_same_dtype(op, "input", input, "var", var);
    if (!(eps > 0)) {
      throw tenon::ValueError("gaussian_nll_loss(): eps must be above 0, got " +
                              tenon::Scalar(eps).text());
    }
    if (var.numel() != 0 && var.detach().lt(0).any().to(tenon::u8).item() != 0)
      throw tenon::ValueError("gaussian_nll_loss(): 'var' has a negative element");
    warn_of_broadcast(op, input, target,
                      IntList(broadcast_shape(op, "input", input, "target", target)));
    // As PyTorch: what is raised to eps keeps its gradient. An infinite variance is not subtracted.
    const Tensor plain = var.detach();
    const Tensor held = var + (eps - plain).clamp(0);
    const Tensor losses = (held.log() + ((input - target) * held.rsqrt()).square()) * 0.5;
    return reduce(full ? losses + 0.5 * std::log(kTurn) : losses, how);
  }
};

struct PoissonNllLoss {
  static constexpr auto schema =
      "nn.functional.poisson_nll_loss(Tensor input, Tensor target, *, bool log_input=True, bool "
      "full=False, float eps=1e-08, str reduction='mean') -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "target": {"shape": [2, 3], "low": 0.5, "high": 3}},
          {"input": {"shape": [2, 3], "low": 0.5, "high": 2}, "target": {"shape": [2, 3], "low": 1.5, "high": 5},
           "log_input": false, "full": true, "reduction": "none"}])";
  static constexpr auto doc =
      "exp(input) - target input, or without log_input, input - target log(input + eps): the "
      "negative logarithm of a Poisson probability, with full including Stirling's approximation "
      "of log(target!) where target is above 1: target log(target) - target + 0.5 log(2 pi "
      "target).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& target, bool log_input, bool full,
                        double eps, std::string_view reduction) {
    constexpr auto op = "poisson_nll_loss";
    const Reduction how = parse_reduction(op, reduction);
    check_floating(op, "input", input);
    check_same_dtype(op, "input", input, "target", target);
    warn_of_broadcast(op, input, target,
                      IntList(broadcast_shape(op, "input", input, "target", target)));
    Tensor losses = log_input ? input.exp() - product_or_zero(target, input)
                              : input - product_or_zero(target, (input + eps).log());
    if (full) {
      const Tensor large = target > 1;
      const Tensor t = tenon::where(large, target, 1);
      const Tensor stirling = t * t.log() - t + (t * kTurn).log() * 0.5;
      losses = losses + tenon::where(large, stirling, 0);
    }
    return reduce(losses, how);
  }
};

}  // namespace
TENON_OPS(GaussianNllLoss, PoissonNllLoss)
