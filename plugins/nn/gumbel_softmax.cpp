// gumbel_softmax: samples of a category with a gradient.
#include <limits>

#include "common.hpp"

namespace {

using namespace nn;

struct GumbelSoftmax {
  static constexpr auto schema =
      "nn.functional.gumbel_softmax(Tensor logits, float tau=1, bool hard=False, int dim=-1) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"logits": {"shape": [2, 3]}, "check": {"deterministic": false}},
          {"logits": {"shape": [3, 2], "requires_grad": false}, "tau": 0.5, "hard": true, "dim": 0,
           "check": {"deterministic": false}}])";
  static constexpr auto doc =
      "softmax((logits + noise) / tau) along dim, where the noise -log(-log(u)) makes the largest "
      "element a sample of softmax(logits). With hard the result is that element's one-hot vector, "
      "and the gradient the softmax's (arXiv:1611.01144).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& logits, double tau, bool hard, int64_t dim) {
    check_floating("gumbel_softmax", "logits", logits);
    if (!(tau > 0)) {
      throw tenon::ValueError("gumbel_softmax(): tau must be above 0, got " +
                              tenon::Scalar(tau).text());
    }
    const int64_t along = kernel::wrap_dimension("gumbel_softmax", dim, logits.dim());
    // 0 has no logarithm.
    const Tensor draws = tenon::rand(logits.sizes(), logits.dtype())
                             .clamp(static_cast<double>(std::numeric_limits<float>::min()));
    const Tensor noise = -(-draws.log()).log();
    const Tensor soft = tenon::nn::functional::softmax((logits + noise) / tau, along);
    if (!hard || logits.numel() == 0) return soft;
    const Tensor best = soft.detach().argmax(along, true);
    const Tensor one =
        tenon::zeros_like(soft.detach()).scatter(logits.dim() == 0 ? 0 : along, best, 1);
    return one - soft.detach() + soft;
  }
};

}  // namespace
TENON_OP(GumbelSoftmax)
