// Factors of square matrices by LAPACK, which is part of OpenBLAS.
#include "linalg.hpp"

#include <algorithm>
#include <climits>

#include <tenon/kernel/view.hpp>

#include "one_thread.hpp"

extern "C" {
void sgetrf_(const int* rows, const int* columns, float* a, const int* leading, int* pivots,
             int* info);
void dgetrf_(const int* rows, const int* columns, double* a, const int* leading, int* pivots,
             int* info);
void sgetrs_(const char* transpose, const int* n, const int* right_sides, const float* a,
             const int* leading, const int* pivots, float* b, const int* b_leading, int* info,
             size_t transpose_length);
void dgetrs_(const char* transpose, const int* n, const int* right_sides, const double* a,
             const int* leading, const int* pivots, double* b, const int* b_leading, int* info,
             size_t transpose_length);
void spotrf_(const char* half, const int* n, float* a, const int* leading, int* info,
             size_t half_length);
void dpotrf_(const char* half, const int* n, double* a, const int* leading, int* info,
             size_t half_length);
}

namespace blas {

namespace {

int getrf(int n, float* a, int* pivots) {
  int info = 0;
  sgetrf_(&n, &n, a, &n, pivots, &info);
  return info;
}
int getrf(int n, double* a, int* pivots) {
  int info = 0;
  dgetrf_(&n, &n, a, &n, pivots, &info);
  return info;
}
void getrs(int n, int right_sides, const float* a, const int* pivots, float* b) {
  int info = 0;
  sgetrs_("N", &n, &right_sides, a, &n, pivots, b, &n, &info, 1);
}
void getrs(int n, int right_sides, const double* a, const int* pivots, double* b) {
  int info = 0;
  dgetrs_("N", &n, &right_sides, a, &n, pivots, b, &n, &info, 1);
}
int potrf(int n, float* a) {
  int info = 0;
  spotrf_("L", &n, a, &n, &info, 1);
  return info;
}
int potrf(int n, double* a) {
  int info = 0;
  dpotrf_("L", &n, a, &n, &info, 1);
  return info;
}

int lapack_size(int64_t size) {
  if (size > INT_MAX) {
    throw tenon::ValueError("LAPACK takes sizes up to " + std::to_string(INT_MAX) + ", got " +
                            std::to_string(size));
  }
  return static_cast<int>(size);
}

// body(T{}, index) for each of `count` matrices of about n^3 operations, on several threads.
template <class Body>
void each_matrix(const Tensor& tensor, int64_t count, int64_t n, const Body& body) {
  const int64_t grain = 1 + 65536 / std::max<int64_t>(1, n * n * n);
  tenon::kernel::visit<tenon::floating_dtypes>(tensor.dtype(), [&](auto zero) {
    tenon::parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      const OneThread serial;
      for (int64_t i = begin; i < end; ++i) body(zero, i);
    });
  });
}

}  // namespace

void check_square(const char* op, const char* name, const Tensor& tensor) {
  tenon::kernel::check_floating(op, name, tensor);
  const int64_t rank = tensor.dim();
  if (rank >= 2 && tensor.shape()[rank - 1] == tensor.shape()[rank - 2]) return;
  throw tenon::ValueError(std::string(op) + "(): '" + name +
                          "' must be a square matrix or a batch of them, got shape " +
                          shape_text(tensor));
}

int64_t matrix_count(const Tensor& tensor) {
  int64_t count = 1;
  for (int64_t i = 0; i + 2 < tensor.dim(); ++i) count *= tensor.shape()[i];
  return count;
}

Tensor column_major_copy(const Tensor& tensor) {
  tenon::kernel::Shape shape(tensor.shape());
  std::swap(shape[shape.rank - 1], shape[shape.rank - 2]);
  const Tensor copy = tenon::empty_tensor(shape, tensor.dtype());
  tenon::copy_elements(from_column_major(copy), tensor);
  return copy;
}
Tensor from_column_major(const Tensor& copy) {
  tenon::kernel::Shape shape(copy.shape()), strides(copy.strides());
  std::swap(shape[shape.rank - 1], shape[shape.rank - 2]);
  std::swap(strides[shape.rank - 1], strides[shape.rank - 2]);
  return tenon::alias_tensor(copy, shape, strides, 0);
}

Factors::Factors(const Tensor& matrices) : lu(column_major_copy(matrices)) {
  const int64_t count = matrix_count(matrices), n = matrices.shape()[matrices.dim() - 1];
  pivots = tenon::empty_tensor({count, n}, tenon::i32);
  zero_pivot.assign(static_cast<size_t>(count), 0);
  if (count == 0 || n == 0) return;
  const int size = lapack_size(n);
  auto* at = pivots.data<int32_t>();
  each_matrix(lu, count, n, [&](auto zero, int64_t i) {
    using T = decltype(zero);
    zero_pivot[static_cast<size_t>(i)] =
        getrf(size, tenon::kernel::elements<T>(lu) + i * n * n, at + i * n);
  });
}

void Factors::check_invertible(const char* op) const {
  const auto count = static_cast<int64_t>(zero_pivot.size());
  for (int64_t i = 0; i < count; ++i) {
    const int place = zero_pivot[static_cast<size_t>(i)];
    if (place == 0) continue;
    throw tenon::ValueError(
        std::string(op) + "(): the matrix is singular: pivot " + std::to_string(place) + " of " +
        std::to_string(lu.shape()[lu.dim() - 1]) + " is 0" + place_in_batch(i, count));
  }
}

void Factors::solve(const Tensor& right) const {
  const int64_t n = lu.shape()[lu.dim() - 1], columns = right.shape()[right.dim() - 2];
  const int64_t count = matrix_count(right), stride = matrix_count(lu) == 1 ? 0 : 1;
  if (right.numel() == 0) return;
  const int size = lapack_size(n), right_sides = lapack_size(columns);
  const auto* at = pivots.data<const int32_t>();
  each_matrix(lu, count, n, [&](auto zero, int64_t i) {
    using T = decltype(zero);
    const int64_t k = i * stride;
    getrs(size, right_sides, tenon::kernel::elements<const T>(lu) + k * n * n, at + k * n,
          tenon::kernel::elements<T>(right) + i * n * columns);
  });
}

void factor_symmetric(const char* op, const Tensor& copy) {
  const int64_t count = matrix_count(copy), n = copy.shape()[copy.dim() - 1];
  if (copy.numel() == 0) return;
  const int size = lapack_size(n);
  each_matrix(copy, count, n, [&](auto zero, int64_t i) {
    using T = decltype(zero);
    T* a = tenon::kernel::elements<T>(copy) + i * n * n;
    const int place = potrf(size, a);
    if (place != 0) {
      throw tenon::ValueError(std::string(op) + "(): the matrix is not positive definite: pivot " +
                              std::to_string(place) + " of " + std::to_string(n) +
                              " is not above 0" + place_in_batch(i, count));
    }
    for (int64_t column = 1; column < n; ++column)
      std::fill(a + column * n, a + column * n + column, T{0});
  });
}

std::string place_in_batch(int64_t index, int64_t count) {
  return count == 1 ? "" : " (matrix " + std::to_string(index) + " of the batch, from 0)";
}

}  // namespace blas
