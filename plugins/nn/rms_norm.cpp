// rms_norm: layer_norm without its mean.
#include <limits>

#include "common.hpp"

namespace {

using namespace nn;

struct RmsNorm {
  static constexpr auto schema =
      "nn.functional.rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? "
      "eps=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "normalized_shape": [3], "weight": {"shape": [3]}},
          {"input": {"shape": [2, 2, 2]}, "normalized_shape": [2, 2], "eps": 0.1}])";
  static constexpr auto doc =
      "input divided by the root of the mean of its squares over its last dimensions, to which eps "
      "is added, times weight. eps is the distance from 1 to the next number of the dtype unless "
      "given (arXiv:1910.07467).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, IntList normalized_shape, const Tensor& weight,
                        std::optional<double> eps) {
    constexpr auto op = "rms_norm";
    check_floating(op, "input", input);
    const int64_t rank = input.dim(), count = normalized_shape.size();
    if (count < 1 || count > rank ||
        !kernel::same_shape(normalized_shape, {input.shape().end() - count, count})) {
      throw tenon::ValueError("rms_norm(): normalized_shape " + shape_text(normalized_shape) +
                              " must be the last dimensions of 'input', whose shape is " +
                              shape_text(input));
    }
    if (weight.defined()) {
      kernel::check_shape(op, "weight", weight, normalized_shape);
      check_same_dtype(op, "input", input, "weight", weight);
    }
    const double least = eps ? *eps
                         : input.dtype() == tenon::f32
                             ? static_cast<double>(std::numeric_limits<float>::epsilon())
                             : std::numeric_limits<double>::epsilon();
    if (!(least >= 0)) {
      throw tenon::ValueError("rms_norm(): eps must be 0 or more, got " +
                              tenon::Scalar(least).text());
    }
    if (input.numel() == 0) return weight.defined() ? input * weight : input.clone();
    std::vector<int64_t> dims;
    for (int64_t i = rank - count; i < rank; ++i) dims.push_back(i);
    // Rows of large numbers are scaled down, so that their squares are finite: a constant for
    // gradients, as the result does not depend on it.
    const Tensor largest = input.detach().abs().amax(dims, true);
    const Tensor scale = tenon::where((largest > 1).logical_and(largest.isfinite()), largest, 1);
    const Tensor rows = input / scale;
    const Tensor mean = rows.square().mean(dims, true) + least / scale / scale;
    const Tensor result = rows * mean.rsqrt();
    return weight.defined() ? result * weight : result;
  }
};

}  // namespace
TENON_OP(RmsNorm)
