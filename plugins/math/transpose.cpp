// transpose, t and permute.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

Tensor swap_dimensions(const Tensor& input, int64_t a, int64_t b) {
  Shape shape(input.shape()), strides(input.strides());
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  return alias_tensor(input, shape, strides, 0);
}

struct Transpose {
  static constexpr auto schema = "transpose(Tensor(a) input, int dim0, int dim1) -> Tensor(a)";
  static constexpr auto doc = "A view with two dimensions swapped.";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, int64_t dim0, int64_t dim1) {
    const int64_t a = wrap_dimension("transpose", dim0, input.dim());
    const int64_t b = wrap_dimension("transpose", dim1, input.dim());
    if (input.dim() == 0) return input;
    return swap_dimensions(input, a, b);
  }
  static Tensor backward(ContextOf<Transpose>& c, const Tensor& g) {
    return g.transpose(c["dim0"_arg], c["dim1"_arg]);
  }
};

struct T {
  static constexpr auto schema = "t(Tensor(a) input) -> Tensor(a)";
  static constexpr auto doc =
      "The transpose of a matrix, as a view; vectors and numbers as they are.";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input) {
    if (input.dim() > 2) {
      throw ValueError("t(): takes at most 2 dimensions, but the shape is " +
                       shape_text(input.shape()) + ": use transpose or permute");
    }
    return input.dim() < 2 ? input : swap_dimensions(input, 0, 1);
  }
  static Tensor backward(Context&, const Tensor& g) { return g.t(); }
};

struct Permute {
  static constexpr auto schema = "permute(Tensor(a) input, int[] dims) -> Tensor(a)";
  static constexpr auto doc = "A view with the dimensions in another order.";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, IntList dims) {
    if (dims.size() != input.dim()) {
      throw ValueError("permute(): " + shape_text(dims) + " names " + std::to_string(dims.size()) +
                       " dimensions, but shape " + shape_text(input.shape()) + " has " +
                       std::to_string(input.dim()));
    }
    dimension_mask("permute", dims, input.dim());
    Shape shape, strides;
    for (const int64_t dim : dims) {
      const int64_t from = dim < 0 ? dim + input.dim() : dim;
      shape.push(input.shape()[from]);
      strides.push(input.strides()[from]);
    }
    return alias_tensor(input, shape, strides, 0);
  }
  static Tensor backward(ContextOf<Permute>& c, const Tensor& g) {
    const auto dims = c["dims"_arg];
    Shape inverse(dims);
    for (int64_t i = 0; i < dims.size(); ++i)
      inverse[dims[i] < 0 ? dims[i] + dims.size() : dims[i]] = i;
    return g.permute(IntList(inverse));
  }
};

}  // namespace

TENON_OPS(Transpose, T, Permute)
