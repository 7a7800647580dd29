// diagonal, diag, and the ops that put diagonals in place.
#include <algorithm>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

Tensor diagonal_view(const char* op, const Tensor& input, int64_t offset, int64_t dim1,
                     int64_t dim2) {
  if (input.dim() < 2) {
    throw ValueError(std::string(op) + "(): shape " + shape_text(input.shape()) +
                     " has no two dimensions to take a diagonal of");
  }
  const int64_t row = wrap_dimension(op, dim1, input.dim());
  const int64_t column = wrap_dimension(op, dim2, input.dim());
  if (row == column) {
    throw ValueError(std::string(op) + "(): dim1 and dim2 are both dimension " +
                     std::to_string(row) + ": choose two dimensions");
  }
  Shape shape(input.shape()), strides(input.strides());
  // Beyond the matrix there is nothing; cut there, sums of the offset do not overflow.
  const int64_t at = std::clamp(offset, -shape[row], shape[column]);
  const int64_t length = std::max<int64_t>(0, at >= 0 ? std::min(shape[row], shape[column] - at)
                                                      : std::min(shape[row] + at, shape[column]));
  const int64_t start = length == 0 ? 0 : at >= 0 ? at * strides[column] : -at * strides[row];
  const int64_t step = strides[row] + strides[column];
  shape.erase(std::max(row, column));
  shape.erase(std::min(row, column));
  strides.erase(std::max(row, column));
  strides.erase(std::min(row, column));
  shape.push(length);
  strides.push(step);
  return alias_tensor(input, shape, strides, start);
}

void write_diagonal(const char* op, const Tensor& target, const Tensor& src, int64_t offset,
                    int64_t dim1, int64_t dim2) {
  const Tensor part = diagonal_view(op, target, offset, dim1, dim2);
  if (!same_shape(part.shape(), src.shape())) {
    throw ValueError(std::string(op) + "(): the diagonal has shape " + shape_text(part.shape()) +
                     ", but the tensor to write has " + shape_text(src.shape()));
  }
  copy_elements(part, src);
}

struct Diagonal {
  static constexpr auto schema =
      "diagonal(Tensor(a) input, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 4]}}, {"input": {"shape": [2, 3, 2]}, "offset": -1, "dim1": 1,
          "dim2": -1}])";
  static constexpr auto doc =
      "A view of the elements (i, i + offset) of two dimensions, which disappear: they become the "
      "last one. Empty where the offset is beyond the matrix.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, int64_t offset, int64_t dim1, int64_t dim2) {
    return diagonal_view("diagonal", input, offset, dim1, dim2);
  }
  static Tensor backward(ContextOf<Diagonal>& c, const Tensor& g) {
    return diagonal_backward(g, c["input"_arg].shape(), c["offset"_arg], c["dim1"_arg],
                             c["dim2"_arg]);
  }
};

struct DiagonalBackward {
  static constexpr auto schema =
      "diagonal_backward(Tensor grad, int[] input_size, int offset=0, int dim1=0, int dim2=1) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"grad": {"shape": [2]}, "input_size": [2, 3]}, {"grad": {"shape": [2]}, "input_size":
          [3, 3], "offset": 1}])";
  static constexpr auto doc = "Zeros of a shape with `grad` in the place of the diagonal.";
  static constexpr bool any_dtype = true;
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& grad, IntList input_size, int64_t offset, int64_t dim1,
                        int64_t dim2) {
    const Tensor result = empty_tensor(input_size, grad.dtype());
    fill_elements(result, 0);
    write_diagonal("diagonal_backward", result, grad, offset, dim1, dim2);
    return result;
  }
  static Tensor backward(ContextOf<DiagonalBackward>& c, const Tensor& g) {
    return g.diagonal(c["offset"_arg], c["dim1"_arg], c["dim2"_arg]);
  }
};

struct Diag {
  static constexpr auto schema =
      "diag(Tensor input, int diagonal=0, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3]}}, {"input": {"shape": [2]}, "diagonal": -1},
          {"input": {"shape": [2, 3]}, "diagonal": 1}])";
  static constexpr auto doc =
      "Of a vector the square matrix with it on a diagonal, zeros elsewhere; of a matrix a copy of "
      "its diagonal.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, int64_t diagonal) {
    if (input.dim() == 2) return input.diagonal(diagonal).clone();
    if (input.dim() != 1) {
      throw ValueError("diag(): takes a vector or a matrix, but the shape is " +
                       shape_text(input.shape()) + ": use diagonal");
    }
    int64_t size = 0;
    if (diagonal == INT64_MIN ||
        __builtin_add_overflow(input.shape()[0], diagonal < 0 ? -diagonal : diagonal, &size)) {
      throw ValueError("diag(): a matrix with diagonal " + std::to_string(diagonal) +
                       " has more elements than can be addressed");
    }
    const int64_t square[] = {size, size};
    return diagonal_backward(input, IntList(square, 2), diagonal);
  }
};

}  // namespace

TENON_OPS(Diagonal, DiagonalBackward, Diag)
