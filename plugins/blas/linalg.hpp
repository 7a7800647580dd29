// Shared code of the ops of `linalg`: batches of matrices, their factors by LAPACK, refusals; and
// these ops for each other's rules.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include <tenon/kernel/complex.hpp>
#include <tenon/kernel/view.hpp>
#include <tenon/ops.hpp>

#include "lapack.hpp"
#include "product.hpp"

TENON_NAMESPACE_BEGIN
namespace linalg {
TENON_OP_FUNCTION(Tensor, cross, "linalg.cross")
using TensorPair = std::tuple<Tensor, Tensor>;
using TensorTriple = std::tuple<Tensor, Tensor, Tensor>;
TENON_OP_FUNCTION(Tensor, det, "linalg.det")
TENON_OP_FUNCTION(TensorPair, eig, "linalg.eig")
TENON_OP_FUNCTION(TensorPair, eigh, "linalg.eigh")
TENON_OP_FUNCTION(Tensor, eigvalsh, "linalg.eigvalsh")
TENON_OP_FUNCTION(Tensor, inv, "linalg.inv")
TENON_OP_FUNCTION(Tensor, matrix_norm, "linalg.matrix_norm")
TENON_OP_FUNCTION(Tensor, pinv, "linalg.pinv")
TENON_OP_FUNCTION(TensorPair, slogdet, "linalg.slogdet")
TENON_OP_FUNCTION(Tensor, solve, "linalg.solve")
TENON_OP_FUNCTION(TensorTriple, svd, "linalg.svd")
TENON_OP_FUNCTION(Tensor, svdvals, "linalg.svdvals")
}  // namespace linalg
TENON_OP_FUNCTION(Tensor, complex_of, "complex")
TENON_OP_FUNCTION(Tensor, multiply_matrices, "matmul")
TENON_NAMESPACE_END

namespace blas {

using tenon::kernel::Shape;

// The dtypes that LAPACK computes in.
inline constexpr uint32_t lapack_dtypes = tenon::floating_dtypes | tenon::complex_dtypes;

// TypeError unless floating or complex, ValueError unless [..., rows, columns].
void check_matrices(const char* op, const char* name, const Tensor& tensor);
// TypeError unless floating or complex, ValueError unless [..., n, n].
void check_square(const char* op, const char* name, const Tensor& tensor);

// ValueError for a size beyond what LAPACK counts with.
int lapack_size(int64_t size);

// How many matrices a tensor of shape [..., rows, columns] has.
int64_t matrix_count(const Tensor& tensor);
// A tensor's dimensions but the last two, followed by `last`.
inline Shape batch_shape(const Tensor& matrices, std::initializer_list<int64_t> last) {
  Shape shape({matrices.shape().data(), matrices.dim() - 2});
  for (const int64_t size : last) shape.push(size);
  return shape;
}
// A new tensor of that shape and of the dtype of the matrices.
inline Tensor empty_batch(const Tensor& matrices, std::initializer_list<int64_t> last) {
  return tenon::empty_tensor(batch_shape(matrices, last), matrices.dtype());
}
// A new tensor of real numbers in the shape of a batch: singular values, eigenvalues and the like.
inline Tensor empty_real_batch(const Tensor& matrices, std::initializer_list<int64_t> last) {
  return tenon::empty_tensor(batch_shape(matrices, last), tenon::real_dtype(matrices.dtype()));
}
// The distance of 1 from the next number of the elements' precision.
inline double epsilon_of(const Tensor& tensor) {
  return tenon::real_dtype(tensor.dtype()) == tenon::f32
             ? static_cast<double>(std::numeric_limits<float>::epsilon())
             : std::numeric_limits<double>::epsilon();
}
// A new tensor like A, which has to be square.
inline Tensor empty_square(const char* op, const Tensor& a) {
  check_square(op, "A", a);
  return tenon::empty_tensor(a.shape(), a.dtype());
}

// ---- parts of rules ----
// The last two dimensions swapped.
inline Tensor transposed(const Tensor& tensor) { return tensor.transpose(-2, -1); }
// The last two dimensions swapped and the elements conjugated: a^H.
inline Tensor adjoint(const Tensor& tensor) { return tenon::conjugate(transposed(tensor)); }
inline Tensor product(const Tensor& a, const Tensor& b) { return tenon::multiply_matrices(a, b); }
// (a + a^H) / 2
inline Tensor symmetric_half(const Tensor& a) { return a * 0.5 + adjoint(a) * 0.5; }
// The lower triangle, with half of the diagonal.
inline Tensor lower_half(const Tensor& a) { return a.tril() * 0.5 + a.tril(-1) * 0.5; }
// a - a^H. Its diagonal, which is imaginary, is left to `check_phases`.
inline Tensor skew(const Tensor& a) {
  const Tensor whole = a - adjoint(a);
  return tenon::is_complex(a.dtype()) ? whole.tril(-1) + whole.triu(1) : whole;
}
// The real parts; real numbers are their own.
inline Tensor real_part(const Tensor& x) {
  return tenon::is_complex(x.dtype()) ? tenon::real(x) : x;
}
// conj(a) * b summed over the rows, of which the real parts count: [..., columns].
inline Tensor column_dots(const Tensor& a, const Tensor& b) {
  return real_part((tenon::conjugate(a) * b).sum(-2));
}
// i x of real numbers.
inline Tensor times_i(const Tensor& x) { return tenon::complex_of(tenon::zeros_like(x), x); }
// ValueError unless the changes of the phases of complex vectors, [..., vectors], are 0 but for
// rounding; `gradient` is the size that they are compared with.
void check_phases(const char* op, const Tensor& changes, const Tensor& gradient);
// Vectors [..., n] as a factor of each row, or of each column, of matrices.
inline Tensor along_rows(const Tensor& vectors) { return vectors.unsqueeze(-1); }
inline Tensor along_columns(const Tensor& vectors) { return vectors.unsqueeze(-2); }
// a / b; where b is 0, NaN for what is `used` and 0 for the rest. The derivatives of vectors are
// such: where values are equal there are none, which does not matter for vectors without a
// gradient.
inline Tensor ratio_where_used(const Tensor& a, const Tensor& b, const Tensor& used) {
  const Tensor zero = b.eq(0);
  const Tensor divisor = b.masked_fill(zero, std::numeric_limits<double>::infinity());
  return a / divisor.masked_fill(zero.logical_and(used), std::numeric_limits<double>::quiet_NaN());
}
// Which of the columns of matrices have an element that is not 0.
inline Tensor used_columns(const Tensor& matrices) { return matrices.detach().ne(0).any(-2); }
// Pairs of different vectors of which one is used.
inline Tensor used_pairs(const Tensor& used) {
  const Tensor either = used.unsqueeze(-1).logical_or(used.unsqueeze(-2));
  return either.logical_and(tenon::eye(used.size(-1), tenon::none, tenon::boolean).logical_not());
}
// v_j - v_i in row i and column j, and 0 where they are equal but for LAPACK's rounding.
inline Tensor differences(const Tensor& values) {
  const Tensor difference = along_columns(values) - along_rows(values);
  if (values.size(-1) == 0) return difference;
  const double rounding = 4 * epsilon_of(values) * static_cast<double>(values.size(-1));
  const Tensor largest = along_rows(values.detach().abs().amax(-1, true));
  return difference.masked_fill(difference.detach().abs().le(largest * rounding), 0);
}

// body(T{}), where T is the element of a dtype that LAPACK computes in.
template <class Body>
void visit_elements(tenon::DType dtype, const Body& body) {
  if (tenon::is_complex(dtype))
    tenon::kernel::visit_complex(dtype, body);
  else
    tenon::kernel::visit<tenon::floating_dtypes>(dtype, body);
}
// body(T{}, index) for each of `count` matrices of about n^3 operations, on several threads.
template <class Body>
void each_matrix(const Tensor& tensor, int64_t count, int64_t n, const Body& body) {
  const int64_t grain = 1 + 65536 / std::max<int64_t>(1, n * n * n);
  visit_elements(tensor.dtype(), [&](auto zero) {
    tenon::parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      const tenon::kernel::OneOpenmpThread serial;
      for (int64_t i = begin; i < end; ++i) body(zero, i);
    });
  });
}

// A copy whose matrices are column-major, as LAPACK takes them: [..., columns, rows], contiguous.
Tensor column_major_copy(const Tensor& tensor);
// Such a copy as the matrices that it has: strided, of the same memory.
Tensor from_column_major(const Tensor& copy);

// The lower triangles of (A + A^H) / 2, column-major; what is above them is not set. ValueError for
// what is not finite.
Tensor symmetric_copy(const char* op, const char* name, const Tensor& matrices);

// ValueError unless all elements of contiguous matrices are finite: the iterations of LAPACK may not
// end otherwise.
void check_finite(const char* op, const char* name, const Tensor& copy);
// RuntimeError unless LAPACK's iteration converged, by its info.
void check_converged(const char* op, int info, int64_t index, int64_t count);

// The singular value decomposition of matrices [..., rows, columns], with ValueError for what is
// not finite.
struct SingularValues {
  enum Vectors { none, reduced, full };
  Tensor u, s, vh;  // u and vh are undefined without vectors
  SingularValues(const char* op, const char* name, const Tensor& matrices, Vectors vectors);
  // Results of the right shapes, without values.
  SingularValues(const Tensor& matrices, Vectors vectors);
};
// The threshold above which singular values count, [...]: the larger of `atol` and `rtol` of the
// largest one. Without rtol it is 0 beside an atol above 0, else the larger size of the matrices
// times the dtype's epsilon.
Tensor smallest_singular_value(const Tensor& matrices, const Tensor& s, std::optional<double> atol,
                               std::optional<double> rtol);

// How a pseudoinverse P of A changes the loss, or changes, with A. ValueError where singular values
// that are not 0 were counted as 0.
Tensor pinv_gradient(const char* op, const Tensor& a, const Tensor& p, const Tensor& gradient);
Tensor pinv_tangent(const char* op, const Tensor& a, const Tensor& p, const Tensor& tangent);

// PyTorch's rule for what makes vectors of the right sides B of A: one dimension, or the shape of A
// without its last one.
bool is_vectors(const Tensor& a, const Tensor& b);
// The batch dimensions of A and B, broadcast, followed by `rows` and `columns`; ValueError where
// they cannot be.
Shape common_batch_shape(const char* op, const Tensor& a, const Tensor& b, int64_t rows,
                         int64_t columns);

// Whether all of `count` elements, each `step` from the one before, are finite.
template <class T>
bool all_finite(const T* at, int64_t count, int64_t step = 1) {
  T sum{};  // NaN as soon as one of them is NaN or infinite
  for (int64_t i = 0; i < count; ++i) sum += at[i * step] * T{};
  return sum == T{};
}
template <class T>
constexpr T not_a_number() {
  return T(std::numeric_limits<lapack::Real<T>>::quiet_NaN());
}

// The factors of a batch of matrices by Gaussian elimination with row exchanges: `lu` is a
// column-major copy, `pivots` are LAPACK's, from 1 on, and `zero_pivot` is the place of the first
// pivot that is 0, from 1 on, or 0.
//
// All factors of a matrix with an element that is not finite, and what is solved by them, are NaN, and
// so is each right side with such an element: which pivots a library chooses among NaN, and
// whether it multiplies them by 0, depends on the processor and on sizes.
struct Factors {
  Tensor lu, pivots;
  std::vector<int> zero_pivot;
  std::vector<char> finite;  // for each matrix
  explicit Factors(const Tensor& matrices);
  // ValueError with the place of the pivot, and of the matrix in its batch, unless all can be
  // inverted.
  void check_invertible(const char* op) const;
  // Solves in place; `right` is a column-major copy of right sides, for one matrix or as many.
  void solve(const Tensor& right) const;
  // Solves right sides [..., n, k] as they are, contiguous: without turning them twice.
  void solve_rows(const Tensor& right) const;
  // The inverses take the place of the factors, column-major as they are.
  void invert() const;

 private:
  template <class T>
  std::vector<char> solvable(const T* sides, int64_t count, int64_t side, int64_t n, int64_t step,
                             int64_t matrix) const;
  // NaN for the right sides that are not solved.
  template <class T>
  static void spoil(T* sides, const std::vector<char>& solved, int64_t side, int64_t n,
                    int64_t step);
};

// The lower factors of symmetric, or Hermitian, matrices, in place of a column-major copy, with zeros above the
// diagonal. ValueError for a matrix that is not positive definite.
void factor_symmetric(const char* op, const Tensor& copy);

// ", matrix 3 of the batch" for a batch of several, counted from 0.
std::string place_in_batch(int64_t index, int64_t count);

}  // namespace blas
