// unfold: windows of a dimension. nn.functional.unfold, which is about images, is another op.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

struct Unfold {
  static constexpr auto schema =
      "unfold(Tensor(a) input, int dimension, int size, int step) -> Tensor(a)";
  static constexpr auto samples =
      R"([{"input": {"shape": [5]}, "dimension": 0, "size": 2, "step": 2},
          {"input": {"shape": [2, 4]}, "dimension": 1, "size": 3, "step": 1}])";
  static constexpr auto doc =
      "A view of all windows of `size` elements along a dimension, `step` apart: the dimension "
      "counts "
      "windows, a last one has their elements.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, int64_t dimension, int64_t size, int64_t step) {
    const int64_t at = wrap_dimension("unfold", dimension, input.dim());
    const int64_t length = input.dim() == 0 ? 1 : input.shape()[at];
    if (size < 0 || size > length) {
      throw ValueError("unfold(): size must be from 0 to " + std::to_string(length) +
                       ", the size of dimension " + std::to_string(at) + ", but it is " +
                       std::to_string(size));
    }
    if (step < 1)
      throw ValueError("unfold(): step must be at least 1, but it is " + std::to_string(step));
    kernel::check_rank("unfold", input.dim() + 1);
    Shape shape(input.shape()), strides(input.strides());
    const int64_t stride = input.dim() == 0 ? 1 : strides[at];
    if (input.dim() != 0) {
      shape[at] = (length - size) / step + 1;
      if (shape[at] > 1) strides[at] *= step;
    }
    shape.push(size);
    strides.push(stride);
    return alias_tensor(input, shape, strides, 0);
  }
  // Windows share elements: the gradients of all are added.
  static Tensor backward(ContextOf<Unfold>& c, const Tensor& g) {
    const IntList shape = c["input"_arg].shape();
    const int64_t size = c["size"_arg], step = c["step"_arg];
    if (shape.empty()) return size == 0 ? zeros(IntList(), g.dtype()) : g.reshape(IntList());
    const int64_t at = wrap_dimension("unfold", c["dimension"_arg], shape.size());
    Tensor places;
    {
      const NoGrad scope;
      places = arange(shape[at]).unfold(0, size, step).reshape({-1});
    }
    Shape joined(shape);
    joined[at] = places.numel();
    const int64_t last = g.dim() - 1, behind = at + 1;
    const Tensor windows = movedim(g, IntList(&last, 1), IntList(&behind, 1));
    return expanded_zeros(shape, g.dtype()).index_add(at, places, windows.reshape(IntList(joined)));
  }
};

}  // namespace

TENON_OP(Unfold)
