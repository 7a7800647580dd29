// What the ops of `linalg` share: batches of square matrices, their factors by LAPACK, refusals; and
// these ops for each other's rules.
#pragma once

#include <vector>

#include "product.hpp"

TENON_NAMESPACE_BEGIN
namespace linalg {
TENON_OP_FUNCTION(Tensor, cross, "linalg.cross")
TENON_OP_FUNCTION(Tensor, det, "linalg.det")
TENON_OP_FUNCTION(Tensor, inv, "linalg.inv")
TENON_OP_FUNCTION(Tensor, solve, "linalg.solve")
}  // namespace linalg
TENON_OP_FUNCTION(Tensor, multiply_matrices, "matmul")
TENON_NAMESPACE_END

namespace blas {

// TypeError unless floating, ValueError unless [..., n, n].
void check_square(const char* op, const char* name, const Tensor& tensor);

// How many matrices a tensor of shape [..., rows, columns] has.
int64_t matrix_count(const Tensor& tensor);

// The last two dimensions swapped.
inline Tensor transposed(const Tensor& tensor) { return tensor.transpose(-2, -1); }

// A copy whose matrices are column-major, as LAPACK takes them: [..., columns, rows], contiguous.
Tensor column_major_copy(const Tensor& tensor);
// Such a copy as the matrices that it has: strided, of the same memory.
Tensor from_column_major(const Tensor& copy);

// The factors of a batch of matrices by Gaussian elimination with row exchanges: `lu` is a
// column-major copy, `pivots` are LAPACK's, from 1 on, and `zero_pivot` is the place of the first
// pivot that is 0, from 1 on, or 0.
struct Factors {
  Tensor lu, pivots;
  std::vector<int> zero_pivot;
  explicit Factors(const Tensor& matrices);
  // ValueError with the place of the pivot, and of the matrix in its batch, unless all can be
  // inverted.
  void check_invertible(const char* op) const;
  // Solves in place; `right` is a column-major copy of right sides, for one matrix or as many.
  void solve(const Tensor& right) const;
};

// The lower factors of symmetric matrices, in place of a column-major copy, with zeros above the
// diagonal. ValueError for a matrix that is not positive definite.
void factor_symmetric(const char* op, const Tensor& copy);

// ", matrix 3 of the batch" for a batch of several, counted from 0.
std::string place_in_batch(int64_t index, int64_t count);

}  // namespace blas
