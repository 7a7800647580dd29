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
    std::vector<int64_t> dims(dim.begin(), dim.end());
    for (int64_t i = 0; dim.empty() && i < input.dim(); ++i) dims.push_back(i);
    const Tensor centered = input - input.mean(dims, true);
    // Large elements are scaled down, so that their squares are finite: a constant for gradients.
    const Tensor largest = centered.detach().abs().amax(dims, true);
    const Tensor scale = tenon::where((largest > 1).logical_and(largest.isfinite()), largest, 1);
    const Tensor rows = centered / scale, variance = rows.square().mean(dims, true);
    // The root has no derivative at 0, where what it is multiplied with is 0.
    const Tensor constant = variance.eq(0);
    const Tensor root = tenon::where(constant, 1, variance).sqrt().masked_fill(constant, 0);
    return rows / (root + eps / scale);
  }
};

}  // namespace
TENON_OP(MeanVarianceNorm)
