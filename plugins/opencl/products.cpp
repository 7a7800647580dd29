// Matrix products, by strides: transposed operands are not copied.
#include <tenon/plugin.hpp>

#include "opencl/runtime.hpp"

namespace {

using namespace tenon_opencl;
using tenon::Results;
using tenon::Tensor;

bool is_matrix(const Tensor& tensor) {
  return tensor.defined() && tenon::is<OpenclTensor>(tensor) && tensor.dtype() == tenon::f32 &&
         tensor.dim() == 2 && tensor.stride(0) >= 0 && tensor.stride(1) >= 0;
}
bool is_on(const Tensor& a, const Tensor& b) {
  return tenon::device::index_of<OpenclTensor>(a) == tenon::device::index_of<OpenclTensor>(b);
}

// A matrix of the device, its steps in elements.
struct Matrix {
  Memory memory;
  int64_t rows, columns, row_step, column_step;
};
Matrix matrix_of(const Tensor& tensor) {
  return {memory_of(tensor), tensor.size(0), tensor.size(1), tensor.stride(0), tensor.stride(1)};
}

// Their product, plus a row where it is defined, into the memory of `result`.
void multiply(const Matrix& a, const Matrix& b, const Tensor& bias, const Tensor& result) {
  if (a.rows == 0 || b.columns == 0) return;
  constexpr size_t tile = 16;
  const auto whole = [](int64_t size) {
    return (static_cast<size_t>(size) + tile - 1) / tile * tile;
  };
  const auto number = [](int64_t value) { return static_cast<cl_ulong>(value); };
  const Tensor& row = bias.defined() ? bias : result;
  instance_of(result).run("product", {whole(b.columns), whole(a.rows)}, {tile, tile}, a.memory,
                          number(a.row_step), number(a.column_step), b.memory, number(b.row_step),
                          number(b.column_step), memory_of(row),
                          static_cast<cl_int>(bias.defined()), memory_of(result), number(a.rows),
                          number(b.columns), number(a.columns));
}

struct Product {
  static constexpr auto schema = "mm(Tensor input, Tensor mat2) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& a, const Tensor& b) {
    if (!is_matrix(a) || !is_matrix(b) || !is_on(a, b) || a.size(1) != b.size(0) || a.size(1) == 0)
      return tenon::not_implemented;
    const int64_t shape[] = {a.size(0), b.size(1)};
    const Tensor result = empty_like(a, {shape, 2});
    multiply(matrix_of(a), matrix_of(b), Tensor(), result);
    return result;
  }
};

struct Linear {
  static constexpr auto schema =
      "nn.functional.linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    if (!is_simple(input) || input.dim() == 0 || !is_matrix(weight) || !is_on(input, weight) ||
        input.size(-1) != weight.size(1) || weight.size(1) == 0)
      return tenon::not_implemented;
    if (bias.defined() && (!is_simple(bias) || bias.dim() != 1 || bias.size(0) != weight.size(0)))
      return tenon::not_implemented;
    std::vector<int64_t> shape = input.sizes();
    shape.back() = weight.size(0);
    const Tensor result = empty_like(input, {shape.data(), static_cast<int64_t>(shape.size())});
    const int64_t inner = weight.size(1);
    const Matrix rows{memory_of(input), input.numel() / inner, inner, inner, 1};
    const Matrix turned{memory_of(weight), inner, weight.size(0), weight.stride(1),
                        weight.stride(0)};
    multiply(rows, turned, bias, result);
    return result;
  }
};

}  // namespace

TENON_OVERRIDE(Product)
TENON_OVERRIDE(Linear)
