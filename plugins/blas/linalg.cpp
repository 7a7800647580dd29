// Factors of square matrices by LAPACK, which is part of OpenBLAS.
#include "linalg.hpp"

#include <algorithm>
#include <climits>

#include "lapack.hpp"

namespace blas {

int lapack_size(int64_t size) {
  if (size > INT_MAX) {
    throw tenon::ValueError("LAPACK takes sizes up to " + std::to_string(INT_MAX) + ", got " +
                            std::to_string(size));
  }
  return static_cast<int>(size);
}

void check_matrices(const char* op, const char* name, const Tensor& tensor) {
  tenon::kernel::check_dtype(op, name, tensor.dtype(), lapack_dtypes);
  if (tensor.dim() >= 2) return;
  throw tenon::ValueError(
      std::string(op) + "(): '" + name +
      "' must be a matrix or a batch of them, [..., rows, columns], got shape " +
      shape_text(tensor));
}

void check_square(const char* op, const char* name, const Tensor& tensor) {
  tenon::kernel::check_dtype(op, name, tensor.dtype(), lapack_dtypes);
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

void check_finite(const char* op, const char* name, const Tensor& copy) {
  const int64_t parts = tenon::is_complex(copy.dtype()) ? 2 : 1;  // numbers in an element
  tenon::kernel::visit<tenon::floating_dtypes>(tenon::real_dtype(copy.dtype()), [&](auto zero) {
    using T = decltype(zero);
    const T* at = tenon::kernel::elements<const T>(copy);
    T sum = 0;  // NaN as soon as one of them is NaN or infinite
    for (int64_t i = 0; i < copy.numel() * parts; ++i) sum += at[i] * 0;
    if (sum == 0) return;
    int64_t i = 0;
    while (std::isfinite(at[i])) ++i;
    const std::string text = tenon::Scalar(static_cast<double>(at[i])).text();
    i /= parts;
    const int64_t rows = copy.size(-2), columns = copy.size(-1), size = rows * columns;
    throw tenon::ValueError(
        std::string(op) + "(): '" + name +
        (parts == 1 ? "' has the element " : "' has an element with the part ") + text +
        " at row " + std::to_string(i % size / columns) + ", column " +
        std::to_string(i % columns) + place_in_batch(i / size, matrix_count(copy)) +
        ": replace what is not finite, for example with " +
        (parts == 1 ? "nan_to_num()" : "where()"));
  });
}

Tensor symmetric_copy(const char* op, const char* name, const Tensor& matrices) {
  const Tensor source = tenon::contiguous_as(matrices, matrices.dtype());
  const Tensor copy = tenon::empty_tensor(source.shape(), source.dtype());
  if (source.numel() == 0) return copy;
  check_finite(op, name, source);
  const int64_t n = source.size(-1);
  each_matrix(source, matrix_count(source), n, [&](auto zero, int64_t index) {
    using T = decltype(zero);
    constexpr int64_t kSide = 32;  // side of a tile that stays in the cache
    const T* from = tenon::kernel::elements<const T>(source) + index * n * n;
    T* to = tenon::kernel::elements<T>(copy) + index * n * n;
    const T half = static_cast<T>(0.5);
    for (int64_t top = 0; top < n; top += kSide) {
      for (int64_t left = 0; left <= top; left += kSide) {
        const int64_t bottom = std::min(n, top + kSide), right = std::min(n, left + kSide);
        for (int64_t column = left; column < right; ++column) {
          for (int64_t row = std::max(top, column); row < bottom; ++row) {
            T mirrored = from[column * n + row];
            if constexpr (lapack::is_complex<T>) mirrored = std::conj(mirrored);
            to[column * n + row] = from[row * n + column] * half + mirrored * half;
          }
        }
      }
    }
  });
  return copy;
}

void check_phases(const char* op, const Tensor& changes, const Tensor& gradient) {
  if (changes.numel() == 0) return;
  const Tensor most = changes.detach().abs().amax();
  const Tensor limit = gradient.detach().abs().amax() * std::sqrt(epsilon_of(changes));
  if (!most.gt(limit).item<bool>()) return;
  throw tenon::ValueError(
      std::string(op) +
      "(): complex vectors are determined up to their phases, and the gradient "
      "depends on them; use what does not, for example magnitudes or the product "
      "of the factors");
}

Factors::Factors(const Tensor& matrices) : lu(column_major_copy(matrices)) {
  const int64_t count = matrix_count(matrices), n = matrices.shape()[matrices.dim() - 1];
  pivots = tenon::empty_tensor({count, n}, tenon::i32);
  zero_pivot.assign(static_cast<size_t>(count), 0);
  finite.assign(static_cast<size_t>(count), 1);
  if (count == 0 || n == 0) return;
  const int size = lapack_size(n);
  auto* at = pivots.data<int32_t>();
  each_matrix(lu, count, n, [&](auto zero, int64_t i) {
    using T = decltype(zero);
    T* matrix = tenon::kernel::elements<T>(lu) + i * n * n;
    if (!all_finite(matrix, n * n)) {
      finite[static_cast<size_t>(i)] = 0;
      std::fill_n(matrix, n * n, not_a_number<T>());
      for (int64_t k = 0; k < n; ++k) at[i * n + k] = static_cast<int32_t>(k + 1);
      return;
    }
    lapack::routine<T>(lapack::sgetrf_, lapack::dgetrf_, lapack::cgetrf_, lapack::zgetrf_)(
        &size, &size, matrix, &size, at + i * n, &zero_pivot[static_cast<size_t>(i)]);
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

// Which right sides, `side` apart from each other, have finite elements, `step` apart, alone: none
// of a matrix that has not.
template <class T>
std::vector<char> Factors::solvable(const T* sides, int64_t count, int64_t side, int64_t n,
                                    int64_t step, int64_t matrix) const {
  std::vector<char> whole(static_cast<size_t>(count), finite[static_cast<size_t>(matrix)]);
  if (step == 1) {
    for (int64_t j = 0; j < count; ++j) {
      char& each = whole[static_cast<size_t>(j)];
      each = each != 0 && all_finite(sides + j * side, n) ? 1 : 0;
    }
    return whole;
  }
  for (int64_t i = 0; i < n; ++i) {  // in the order of memory
    for (int64_t j = 0; j < count; ++j) {
      if (!all_finite(sides + i * step + j * side, 1)) whole[static_cast<size_t>(j)] = 0;
    }
  }
  return whole;
}
template <class T>
void Factors::spoil(T* sides, const std::vector<char>& solved, int64_t side, int64_t n,
                    int64_t step) {
  for (size_t j = 0; j < solved.size(); ++j) {
    if (solved[j] != 0) continue;
    for (int64_t i = 0; i < n; ++i)
      sides[static_cast<int64_t>(j) * side + i * step] = not_a_number<T>();
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
    T* sides = tenon::kernel::elements<T>(right) + i * n * columns;
    const std::vector<char> solved = solvable(sides, columns, n, n, 1, k);
    int info = 0;
    lapack::routine<T>(lapack::sgetrs_, lapack::dgetrs_, lapack::cgetrs_, lapack::zgetrs_)(
        "N", &size, &right_sides, tenon::kernel::elements<const T>(lu) + k * n * n, &size,
        at + k * n, sides, &size, &info, 1);
    spoil(sides, solved, n, n, 1);
  });
}

void Factors::solve_rows(const Tensor& right) const {
  const int64_t n = lu.shape()[lu.dim() - 1], columns = right.shape()[right.dim() - 1];
  const int64_t count = matrix_count(right), stride = matrix_count(lu) == 1 ? 0 : 1;
  if (right.numel() == 0) return;
  const int size = lapack_size(n), right_sides = lapack_size(columns);
  const auto* at = pivots.data<const int32_t>();
  each_matrix(lu, count, n, [&](auto zero, int64_t i) {
    using T = decltype(zero);
    const int64_t k = i * stride;
    const T one{1};
    const T* factors = tenon::kernel::elements<const T>(lu) + k * n * n;
    T* rows = tenon::kernel::elements<T>(right) + i * n * columns;
    const std::vector<char> solved = solvable(rows, columns, 1, n, columns, k);
    for (int64_t row = 0; row < n; ++row) {
      const int64_t other = at[k * n + row] - 1;
      if (other != row)
        std::swap_ranges(rows + row * columns, rows + (row + 1) * columns, rows + other * columns);
    }
    // In LAPACK's order of elements the right sides are transposed: X^T U^T L^T = B^T.
    const auto trsm =
        lapack::routine<T>(lapack::strsm_, lapack::dtrsm_, lapack::ctrsm_, lapack::ztrsm_);
    trsm("R", "L", "T", "U", &right_sides, &size, &one, factors, &size, rows, &right_sides, 1, 1, 1,
         1);
    trsm("R", "U", "T", "N", &right_sides, &size, &one, factors, &size, rows, &right_sides, 1, 1, 1,
         1);
    spoil(rows, solved, 1, n, columns);
  });
}

void Factors::invert() const {
  const int64_t n = lu.shape()[lu.dim() - 1], count = matrix_count(lu);
  if (lu.numel() == 0) return;
  const int size = lapack_size(n);
  const auto* at = pivots.data<const int32_t>();
  each_matrix(lu, count, n, [&](auto zero, int64_t i) {
    using T = decltype(zero);
    if (finite[static_cast<size_t>(i)] == 0) return;
    int info = 0;
    lapack::with_workspace<T>([&](T* work, const int* work_size) {
      lapack::routine<T>(lapack::sgetri_, lapack::dgetri_, lapack::cgetri_, lapack::zgetri_)(
          &size, tenon::kernel::elements<T>(lu) + i * n * n, &size, at + i * n, work, work_size,
          &info);
      return info;
    });
  });
}

void factor_symmetric(const char* op, const Tensor& copy) {
  const int64_t count = matrix_count(copy), n = copy.shape()[copy.dim() - 1];
  if (copy.numel() == 0) return;
  const int size = lapack_size(n);
  each_matrix(copy, count, n, [&](auto zero, int64_t i) {
    using T = decltype(zero);
    T* a = tenon::kernel::elements<T>(copy) + i * n * n;
    int place = 0;
    lapack::routine<T>(lapack::spotrf_, lapack::dpotrf_, lapack::cpotrf_, lapack::zpotrf_)(
        "L", &size, a, &size, &place, 1);
    if (place != 0) {
      throw tenon::ValueError(std::string(op) + "(): the matrix is not positive definite: pivot " +
                              std::to_string(place) + " of " + std::to_string(n) +
                              " is not above 0" + place_in_batch(i, count));
    }
    for (int64_t column = 1; column < n; ++column)
      std::fill(a + column * n, a + column * n + column, T{0});
  });
}

void check_converged(const char* op, int info, int64_t index, int64_t count) {
  if (info == 0) return;
  if (info < 0) {
    throw tenon::RuntimeError(std::string(op) + "(): LAPACK refused argument " +
                              std::to_string(-info));
  }
  throw tenon::RuntimeError(std::string(op) + "(): LAPACK did not converge: " +
                            std::to_string(info) + " of its off-diagonal elements stayed above 0" +
                            place_in_batch(index, count) + "; scale the matrix, or compute in f64");
}

bool is_vectors(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (b.dim() == a.dim() - 1 &&
                          tenon::kernel::same_shape(b.shape(), {a.shape().data(), a.dim() - 1}));
}

Shape common_batch_shape(const char* op, const Tensor& a, const Tensor& b, int64_t rows,
                         int64_t columns) {
  const int64_t a_rank = a.dim() - 2, b_rank = b.dim() - 2, rank = std::max(a_rank, b_rank);
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t from_a = i - (rank - a_rank), from_b = i - (rank - b_rank);
    const int64_t a_size = from_a < 0 ? 1 : a.shape()[from_a],
                  b_size = from_b < 0 ? 1 : b.shape()[from_b];
    if (a_size != b_size && a_size != 1 && b_size != 1) {
      throw tenon::ValueError(std::string(op) + "(): batch dimensions cannot be broadcast: " +
                              shape_text(a) + " and " + shape_text(b));
    }
    shape.push(a_size == 1 ? b_size : a_size);
  }
  shape.push(rows);
  shape.push(columns);
  return shape;
}

std::string place_in_batch(int64_t index, int64_t count) {
  return count == 1 ? "" : " (matrix " + std::to_string(index) + " of the batch, from 0)";
}

}  // namespace blas
