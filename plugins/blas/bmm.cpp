// bmm: the products of two equally long runs of matrices.
#include "product.hpp"

namespace {

using tenon::ContextOf;
using tenon::Tensor;
using namespace tenon::literals;

struct Bmm {
  static constexpr auto schema =
      "bmm(Tensor input, Tensor mat2, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The matrix product of each pair of matrices in two batches.";
  static constexpr auto saves = "mat2 for input, input for mat2";

  static Tensor shape_rule(const Tensor& input, const Tensor& mat2) {
    blas::check_rank("bmm", "input", 3, input);
    blas::check_rank("bmm", "mat2", 3, mat2);
    blas::check_dtypes("bmm", "input", input, "mat2", mat2);
    const int64_t batch = input.shape()[0];
    if (mat2.shape()[0] != batch) blas::throw_batch_sizes("bmm", input, mat2);
    blas::check_inner_sizes("bmm", input, mat2, input.shape()[2], mat2.shape()[1]);
    return tenon::empty_tensor({batch, input.shape()[1], mat2.shape()[2]}, input.dtype());
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& mat2) {
    return input.numel() * mat2.size(2);
  }

  static Tensor forward(const Tensor& input, const Tensor& mat2) {
    Tensor result = shape_rule(input, mat2);
    blas::multiply(input, mat2, result, input.shape()[0], 1, 0);
    return result;
  }

  static std::tuple<Tensor, Tensor> backward(ContextOf<Bmm>& c, const Tensor& g) {
    Tensor input, mat2;
    if (c.needs_input_grad("input"_arg)) input = g.bmm(conjugate(c["mat2"_arg].transpose(1, 2)));
    if (c.needs_input_grad("mat2"_arg)) mat2 = conjugate(c["input"_arg].transpose(1, 2)).bmm(g);
    return {std::move(input), std::move(mat2)};
  }
  static constexpr auto jvp = tenon::multilinear;
};

}  // namespace
TENON_OP(Bmm)
