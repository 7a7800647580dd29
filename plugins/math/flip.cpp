// flip.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

struct Flip {
  static constexpr auto schema = "flip(Tensor input, int[] dims) -> Tensor";
  static constexpr auto doc =
      "A copy with the order of the elements reversed along the given dimensions.";
  static constexpr bool any_dtype = true;
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, IntList dims) {
    const uint32_t mask = dimension_mask("flip", dims, input.dim());
    const Tensor result = empty_tensor(input.shape(), input.dtype());
    if (input.numel() == 0) return result;
    Shape strides(input.strides());
    int64_t offset = 0;
    for (int64_t i = 0; i < input.dim(); ++i) {
      if ((mask >> i & 1) == 0) continue;
      offset += (input.shape()[i] - 1) * strides[i];
      strides[i] = -strides[i];
    }
    copy_elements(result, alias_tensor(input, input.shape(), strides, offset));
    return result;
  }
  static Tensor backward(ContextOf<Flip>& c, const Tensor& g) { return g.flip(c["dims"_arg]); }
};

}  // namespace

TENON_OP(Flip)
