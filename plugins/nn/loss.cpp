// mse_loss and l1_loss: differences, squared or absolute, reduced.
#include "common.hpp"

namespace {

using namespace nn;

struct MseLoss {
  static constexpr auto schema =
      "nn.functional.mse_loss(Tensor input, Tensor target, *, str reduction='mean') -> Tensor";
  static constexpr auto doc =
      "The squared differences of input and target: their mean, their sum, or all of them.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& target, std::string_view reduction) {
    const Reduction how = parse_reduction("mse_loss", reduction);
    return reduce((input - target).square(), how);
  }
};

struct L1Loss {
  static constexpr auto schema =
      "nn.functional.l1_loss(Tensor input, Tensor target, *, str reduction='mean') -> Tensor";
  static constexpr auto doc =
      "The absolute differences of input and target: their mean, their sum, or all of them.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& target, std::string_view reduction) {
    const Reduction how = parse_reduction("l1_loss", reduction);
    return reduce((input - target).abs(), how);
  }
};

}  // namespace
TENON_OP(MseLoss)
TENON_OP(L1Loss)
