// glu: one half of a tensor, gated by the other.
#include "common.hpp"

namespace {

using namespace nn;

struct Glu {
  static constexpr auto schema = "nn.functional.glu(Tensor input, int dim=-1) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 4]}}, {"input": {"shape": [2, 3]}, "dim": 0}])";
  static constexpr auto doc =
      "a * sigmoid(b), where a and b are the two halves of input along dim, whose size must be "
      "even (arXiv:1612.08083).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, int64_t dim) {
    check_floating("glu", "input", input);
    if (input.dim() == 0) {
      throw tenon::ValueError("glu(): 'input' must have at least 1 dimension, got shape []");
    }
    const int64_t axis = kernel::wrap_dimension("glu", dim, input.dim());
    const int64_t size = input.shape()[axis];
    if (size % 2 != 0) {
      throw tenon::ValueError("glu(): the size of dimension " + std::to_string(dim) +
                              " must be even, got shape " + shape_text(input));
    }
    return input.narrow(axis, 0, size / 2) * input.narrow(axis, size / 2, size / 2).sigmoid();
  }
};

}  // namespace
TENON_OP(Glu)
