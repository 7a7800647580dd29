// mean_variance_norm: mean 0 and variance 1 over chosen dimensions.
#include "common.hpp"

namespace {

using namespace nn;

struct MeanVarianceNorm {
  static constexpr auto schema =
      "nn.functional.mean_variance_norm(Tensor input, int[] dim, float eps=1e-09) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3, 2]}, "dim": [0, 2]}, {"input": {"shape": [4]}, "dim": [-1]}])";
  static constexpr auto doc =
      "(input - mean) / (std + eps) over the dimensions dim, where std is the root of the "
      "population variance: a constant gives 0 (ONNX' MeanVarianceNormalization, whose dimensions "
      "are [0, 2, 3]).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, IntList dim, double eps) {
    check_floating("mean_variance_norm", "input", input);
    if (!(eps > 0)) {
      throw tenon::ValueError("mean_variance_norm(): eps must be above 0, got " +
                              tenon::Scalar(eps).text());
    }
    if (input.numel() == 0) return input.clone();
    const Tensor centered = input - input.mean(dim, true);
    const Tensor variance = centered.square().mean(dim, true);
    // The root has no derivative at 0, where what it is multiplied with is 0.
    const Tensor constant = variance.eq(0);
    const Tensor root = tenon::where(constant, 1, variance).sqrt().masked_fill(constant, 0);
    return centered / (root + eps);
  }
};

}  // namespace
TENON_OP(MeanVarianceNorm)
