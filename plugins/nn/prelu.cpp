// prelu: leaky_relu with a slope that is learned, one for all or one for each channel.
#include "common.hpp"

namespace {

using namespace nn;

struct Prelu {
  static constexpr auto schema = "nn.functional.prelu(Tensor input, Tensor weight) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3, 2]}, "weight": {"shape": [3]}},
          {"input": {"shape": [4]}, "weight": {"shape": []}}])";
  static constexpr auto doc =
      "input where it is positive, weight * input elsewhere. weight has one element, or one for "
      "each channel: the sizes of dimension 1 (arXiv:1502.01852). The gradient at 0 is that of the "
      "negative side.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& weight) {
    check_floating("prelu", "input", input);
    check_same_dtype("prelu", "input", input, "weight", weight);
    const int64_t channels = input.dim() < 2 ? 1 : input.shape()[1];
    if (weight.dim() > 1 || (weight.numel() != 1 && weight.numel() != channels)) {
      throw tenon::ValueError("prelu(): 'weight' must have 1 element or the " +
                              std::to_string(channels) + " channels of 'input' of shape " +
                              shape_text(input) + ", got shape " + shape_text(weight));
    }
    Tensor slope = weight;
    if (weight.dim() == 1) {
      std::vector<int64_t> shape(static_cast<size_t>(input.dim()), 1);
      if (input.dim() >= 2) shape[1] = weight.numel();
      slope = weight.reshape(shape);
    }
    // Cut first, so that an infinite input has no part in the gradient of the slope.
    return tenon::where(input > 0, input, input.clamp(tenon::none, 0) * slope);
  }
};

}  // namespace
TENON_OP(Prelu)
