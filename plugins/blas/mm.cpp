// mm: the product of two matrices.
#include "product.hpp"

namespace {

using tenon::ContextOf;
using tenon::Tensor;
using namespace tenon::literals;

void throw_out(const Tensor& out, const Tensor& input, const Tensor& mat2) {
  const std::string expected =
      "[" + std::to_string(input.shape()[0]) + ", " + std::to_string(mat2.shape()[1]) + "]";
  throw tenon::ValueError("mm(): 'out' must be " + std::string(tenon::dtype_text(input.dtype())) +
                          " of shape " + expected + ", got " + tenon::dtype_text(out.dtype()) +
                          " of shape " + blas::shape_text(out));
}

bool writable(const Tensor& out, const Tensor& input, const Tensor& mat2) {
  const blas::Matrices to = blas::matrices(out);
  return (tenon::is_differentiable(out.dtype()) ? to.has_gemm_layout() : out.is_contiguous()) &&
         tenon::host().tensor_shares_storage(out.handle(), input.handle()) == 0 &&
         tenon::host().tensor_shares_storage(out.handle(), mat2.handle()) == 0;
}

struct Mm {
  static constexpr auto schema = "mm(Tensor input, Tensor mat2, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The product of two matrices.";
  static constexpr auto saves = "mat2 for input, input for mat2";

  static Tensor shape_rule(const Tensor& input, const Tensor& mat2, const Tensor& out) {
    blas::check_rank("mm", "input", 2, input);
    blas::check_rank("mm", "mat2", 2, mat2);
    blas::check_dtypes("mm", "input", input, "mat2", mat2);
    const int64_t rows = input.shape()[0], columns = mat2.shape()[1];
    blas::check_inner_sizes("mm", input, mat2, input.shape()[1], mat2.shape()[0]);
    if (!out.defined()) return tenon::empty_tensor({rows, columns}, input.dtype());
    if (out.dtype() != input.dtype() || out.dim() != 2 || out.shape()[0] != rows ||
        out.shape()[1] != columns) {
      throw_out(out, input, mat2);
    }
    return out;
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& mat2, const Tensor&) {
    return input.numel() * mat2.size(1);
  }

  static Tensor forward(const Tensor& input, const Tensor& mat2, const Tensor& out) {
    Tensor result = shape_rule(input, mat2, out);
    if (!out.defined() || writable(out, input, mat2)) {
      blas::multiply(input, mat2, result, 1, 1, 0);
    } else {
      const Tensor product = tenon::empty_tensor(result.shape(), input.dtype());
      blas::multiply(input, mat2, product, 1, 1, 0);
      tenon::copy_elements(out, product);
    }
    return result;
  }

  static std::tuple<Tensor, Tensor> backward(ContextOf<Mm>& c, const Tensor& g) {
    Tensor input, mat2;
    if (c.needs_input_grad("input"_arg)) input = g.mm(conjugate(c["mat2"_arg].t()));
    if (c.needs_input_grad("mat2"_arg)) mat2 = conjugate(c["input"_arg].t()).mm(g);
    return {std::move(input), std::move(mat2)};
  }
  static constexpr auto jvp = tenon::multilinear;
};

}  // namespace
TENON_OP(Mm)
