// mse_loss and l1_loss: differences, squared or absolute, reduced.
#include <algorithm>

#include "common.hpp"

namespace {

using namespace nn;

// input - target, both broadcast before dtypes are chosen: a 0-dim operand counts like any other.
Tensor difference(const char* op, const Tensor& input, const Tensor& target) {
  const IntList a = input.shape(), b = target.shape();
  const int64_t rank = std::max(a.size(), b.size());
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t from_a = i - (rank - a.size()), from_b = i - (rank - b.size());
    const int64_t size_a = from_a < 0 ? 1 : a[from_a], size_b = from_b < 0 ? 1 : b[from_b];
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      throw tenon::ValueError(std::string(op) + "(): 'input' of shape " + shape_text(input) +
                              " and 'target' of shape " + shape_text(target) +
                              " cannot be broadcast together");
    }
    shape.push(size_a == 1 ? size_b : size_a);
  }
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
      "The absolute differences of input and target: their mean, their sum, or all of them.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& target, std::string_view reduction) {
    const Reduction how = parse_reduction("l1_loss", reduction);
    return reduce(difference("l1_loss", input, target).abs(), how);
  }
};

}  // namespace
TENON_OP(MseLoss)
TENON_OP(L1Loss)
