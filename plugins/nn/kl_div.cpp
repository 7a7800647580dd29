// kl_div: the Kullback-Leibler divergence of a distribution from another.
#include "common.hpp"

namespace {

using namespace nn;

struct KlDiv {
  static constexpr auto schema =
      "nn.functional.kl_div(Tensor input, Tensor target, *, str reduction='mean', bool "
      "log_target=False) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "target": {"shape": [2, 3], "low": 0.1, "high": 1}},
          {"input": {"shape": [2, 3]}, "target": {"shape": [3]}, "log_target": true, "reduction": "batchmean"}])";
  static constexpr auto doc =
      "target * (log(target) - input), where input is a logarithm, and target is with log_target: "
      "the mean of all elements, their sum, 'batchmean', their sum divided by the size of "
      "dimension 0, or 'none', all of them. Where target is 0, or its logarithm -inf, the loss is "
      "0, and so is the gradient of target.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& target, std::string_view reduction,
                        bool log_target) {
    const bool by_batch = reduction == "batchmean";
    const Reduction how = by_batch ? Reduction::sum : parse(reduction);
    check_floating("kl_div", "input", input);
    check_floating("kl_div", "target", target);
    const Tensor losses = log_target ? by_logarithm(input, target) : plain(input, target);
    const Tensor loss = reduce(losses, how);
    if (!by_batch || input.dim() == 0) return loss;
    return loss / static_cast<double>(input.shape()[0]);
  }

 private:
  static Reduction parse(std::string_view text) {
    if (text == "mean" || text == "sum" || text == "none") return parse_reduction("kl_div", text);
    throw tenon::ValueError("kl_div(): '" + std::string(text) +
                            "' is not a valid reduction; choose none, batchmean, mean or sum");
  }
  // A target of 0 has the logarithm of 1, so that neither value nor gradient is NaN.
  static Tensor plain(const Tensor& input, const Tensor& target) {
    const Tensor log = tenon::where(target.eq(0), 1, target).log();
    return target * log - product_or_zero(target, input);
  }
  // A difference of two infinities may be all that is left where the target vanishes.
  static Tensor by_logarithm(const Tensor& input, const Tensor& target) {
    const Tensor probability = target.exp();
    return probability * tenon::where(probability.eq(0), 0, target - input);
  }
};

}  // namespace
TENON_OP(KlDiv)
