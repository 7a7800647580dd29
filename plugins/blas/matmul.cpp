// matmul: the product of vectors, matrices and batches of matrices, whichever the operands are.
#include <algorithm>
#include <vector>

#include "product.hpp"

namespace {

using tenon::Tensor;

// The operand with its batch dimensions expanded and folded into one.
Tensor folded(const Tensor& operand, const std::vector<int64_t>& batch, int64_t count) {
  std::vector<int64_t> shape = batch;
  const int64_t rows = operand.size(-2), columns = operand.size(-1);
  shape.push_back(rows);
  shape.push_back(columns);
  const bool expanded = operand.sizes() != shape;
  if (!expanded && operand.dim() == 3) return operand;
  return (expanded ? operand.expand(shape) : operand).reshape({count, rows, columns});
}

std::vector<int64_t> batch_shape(const Tensor& a, const Tensor& b) {
  const int64_t a_rank = a.dim() - 2, b_rank = b.dim() - 2, rank = std::max(a_rank, b_rank);
  std::vector<int64_t> shape(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t from_a = i - (rank - a_rank), from_b = i - (rank - b_rank);
    const int64_t a_size = from_a < 0 ? 1 : a.shape()[from_a],
                  b_size = from_b < 0 ? 1 : b.shape()[from_b];
    if (a_size != b_size && a_size != 1 && b_size != 1) {
      throw tenon::ValueError("matmul(): batch dimensions cannot be broadcast: " +
                              blas::shape_text(a) + " and " + blas::shape_text(b));
    }
    shape[static_cast<size_t>(i)] = a_size == 1 ? b_size : a_size;
  }
  return shape;
}

struct Matmul {
  static constexpr auto schema =
      "matmul(Tensor input, Tensor other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The product of vectors, matrices and batches of matrices, with batch dimensions broadcast.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& other) {
    const int64_t a_rank = input.dim(), b_rank = other.dim();
    if (a_rank == 0 || b_rank == 0) {
      throw tenon::ValueError("matmul(): both operands must have a dimension, got shapes " +
                              blas::shape_text(input) + " and " + blas::shape_text(other) +
                              "; use mul()");
    }
    if (a_rank == 2 && b_rank == 2) return input.mm(other);
    const int64_t a_inner = input.size(-1), b_inner = other.size(b_rank == 1 ? 0 : -2);
    blas::check_inner_sizes("matmul", input, other, a_inner, b_inner);
    blas::check_dtypes("matmul", "input", input, "other", other);
    if (a_rank == 1 && b_rank == 1) return input.dot(other);
    if (a_rank == 2 && b_rank == 1) return input.mv(other);
    if (a_rank == 1 && b_rank == 2) return other.t().mv(input);
    if (a_rank == 1) return forward(input.unsqueeze(0), other).squeeze(-2);
    if (b_rank == 1) return forward(input, other.unsqueeze(1)).squeeze(-1);
    if (b_rank == 2) {
      // One large product instead of a batch of small ones.
      std::vector<int64_t> shape = input.sizes();
      shape.back() = other.size(1);
      return input.reshape({input.numel() == 0 ? rows_of(input) : -1, a_inner})
          .mm(other)
          .reshape(shape);
    }
    std::vector<int64_t> shape = batch_shape(input, other);
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    const Tensor product = folded(input, shape, count).bmm(folded(other, shape, count));
    if (shape.size() == 1) return product;
    shape.push_back(input.size(-2));
    shape.push_back(other.size(-1));
    return product.reshape(shape);
  }

 private:
  static int64_t rows_of(const Tensor& input) {
    int64_t rows = 1;
    for (int64_t i = 0; i + 1 < input.dim(); ++i) rows *= input.shape()[i];
    return rows;
  }
};

}  // namespace
TENON_OP(Matmul)
