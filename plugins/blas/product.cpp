// Products of strided matrices: BLAS by flags where the layout allows it, copies and plain loops
// elsewhere.
#include "product.hpp"

#include <algorithm>
#include <cblas.h>
#include <climits>
#include <type_traits>
#include <vector>

#include <tenon/kernel/complex.hpp>

#include "small_product.hpp"

namespace blas {

namespace {

using tenon::f32;
using tenon::f64;
using tenon::ValueError;

// Rows of a product with a vector that are computed together at least.
constexpr int64_t kVectorPiece = 128;
// Elements of vectors whose product is summed in one piece.
constexpr int64_t kDotPiece = 1 << 18;

double multiplications(int64_t m, int64_t n) {
  return static_cast<double>(m) * static_cast<double>(n);
}

blasint blas_size(int64_t size) {
  if (__builtin_expect(size > INT_MAX, 0)) {
    throw ValueError("a matrix product takes sizes and strides up to " + std::to_string(INT_MAX) +
                     ", got " + std::to_string(size));
  }
  return static_cast<blasint>(size);
}

void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k, float alpha,
          const float* a, blasint lda, const float* b, blasint ldb, float beta, float* c,
          blasint ldc) {
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k, double alpha,
          const double* a, blasint lda, const double* b, blasint ldb, double beta, double* c,
          blasint ldc) {
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k,
          std::complex<float> alpha, const std::complex<float>* a, blasint lda,
          const std::complex<float>* b, blasint ldb, std::complex<float> beta,
          std::complex<float>* c, blasint ldc) {
  cblas_cgemm(CblasRowMajor, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k,
          std::complex<double> alpha, const std::complex<double>* a, blasint lda,
          const std::complex<double>* b, blasint ldb, std::complex<double> beta,
          std::complex<double>* c, blasint ldc) {
  cblas_zgemm(CblasRowMajor, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}

void gemv(CBLAS_ORDER order, blasint m, blasint n, const float* a, blasint lda, const float* x,
          blasint x_step, float* y) {
  cblas_sgemv(order, CblasNoTrans, m, n, 1.0f, a, lda, x, x_step, 1.0f, y, 1);
}
void gemv(CBLAS_ORDER order, blasint m, blasint n, const double* a, blasint lda, const double* x,
          blasint x_step, double* y) {
  cblas_dgemv(order, CblasNoTrans, m, n, 1.0, a, lda, x, x_step, 1.0, y, 1);
}
float dot(blasint n, const float* x, blasint x_step, const float* y, blasint y_step) {
  return cblas_sdot(n, x, x_step, y, y_step);
}
double dot(blasint n, const double* x, blasint x_step, const double* y, blasint y_step) {
  return cblas_ddot(n, x, x_step, y, y_step);
}

template <class T>
void multiply_as(const Matrices& a, const Matrices& b, const Matrices& out, int64_t batch, T alpha,
                 T beta) {
  kernel::multiply_in_pieces<T>(
      a, b, out, batch,
      [&](bool ta, bool tb, int64_t m, int64_t n, int64_t k, const T* a_data, int64_t lda,
          const T* b_data, int64_t ldb, T* to, int64_t ldc) {
        gemm(ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, blas_size(m),
             blas_size(n), blas_size(k), alpha, a_data, blas_size(lda), b_data, blas_size(ldb),
             beta, to, blas_size(ldc));
      });
}

template <class T>
void multiply_integers_as(const Matrices& a, const Matrices& b, const Matrices& out, int64_t batch,
                          int64_t alpha, int64_t beta) {
  // Unsigned, so that overflow wraps; at least 32 bits, so that nothing is promoted to int.
  using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  constexpr int64_t block = 256;
  const int64_t depth = a.columns;
  for (int64_t i = 0; i < batch; ++i) {
    // Without terms there is no data to point into.
    const int64_t before = depth == 0 ? 0 : i;
    const auto* from_a = reinterpret_cast<const T*>(a.data) + before * a.batch_stride;
    const auto* from_b = reinterpret_cast<const T*>(b.data) + before * b.batch_stride;
    auto* to = reinterpret_cast<T*>(out.data) + i * out.batch_stride;
    const auto rows = [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        T* row = to + r * out.row_stride;
        for (int64_t j = 0; j < out.columns; ++j) {
          row[j] =
              beta == 0 ? T{} : static_cast<T>(static_cast<Wide>(beta) * static_cast<Wide>(row[j]));
        }
      }
      for (int64_t from = 0; from < depth; from += block) {
        const int64_t until = std::min(depth, from + block);
        for (int64_t r = begin; r < end; ++r) {
          T* row = to + r * out.row_stride;
          for (int64_t k = from; k < until; ++k) {
            const Wide factor = static_cast<Wide>(alpha) *
                                static_cast<Wide>(from_a[r * a.row_stride + k * a.column_stride]);
            const T* other = from_b + k * b.row_stride;
            for (int64_t j = 0; j < out.columns; ++j) {
              row[j] =
                  static_cast<T>(static_cast<Wide>(row[j]) + factor * static_cast<Wide>(other[j]));
            }
          }
        }
      }
    };
    tenon::parallel_for(0, out.rows, 1 + 65536 / std::max<int64_t>(1, depth * out.columns), rows);
  }
}

// The tensor itself, or a row-major copy of it when gemm cannot read its layout.
const Tensor& readable(const Tensor& tensor, Tensor& copy) {
  if (__builtin_expect(matrices(tensor).has_gemm_layout(), 1)) return tensor;
  copy = tenon::empty_tensor(tensor.shape(), tensor.dtype());
  tenon::copy_elements(copy, tensor);
  return copy;
}

Matrices transposed(const Matrices& m) {
  return {m.data, m.columns, m.rows, m.column_stride, m.row_stride, m.batch_stride};
}

// Makes one product of products that have the right operand in common, where the rows of the others follow
// each other from one product to the next.
bool fold_batch(Matrices& a, const Matrices& b, Matrices& out, int64_t batch) {
  const auto joined = [&](Matrices m) {
    if (m.rows == 1) m.row_stride = m.batch_stride;
    m.rows = m.batch_stride == m.rows * m.row_stride ? m.rows * batch : 0;
    return m;
  };
  const Matrices rows = joined(a), to = joined(out);
  if (b.batch_stride != 0 || rows.rows == 0 || to.rows == 0) return false;
  if (!rows.has_gemm_layout() || !b.has_gemm_layout() || !to.has_gemm_layout()) return false;
  a = rows;
  out = to;
  return true;
}
// Columns in place of rows, where the left operand is in common: the transposes are multiplied in turn.
bool fold_columns(Matrices& a, Matrices& b, Matrices& out, int64_t batch) {
  Matrices right = transposed(a), left = transposed(b), to = transposed(out);
  if (!fold_batch(left, right, to, batch)) return false;
  a = left;
  b = right;
  out = to;
  return true;
}

template <class T>
T wrapping_sum(const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t count) {
  using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  Wide sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += static_cast<Wide>(a[i * a_stride]) * static_cast<Wide>(b[i * b_stride]);
  }
  return static_cast<T>(sum);
}

bool has_blas_stride(const Tensor& vector) {
  const int64_t stride = vector.strides()[0];
  return vector.numel() <= 1 || (stride >= 1 && stride <= INT_MAX);
}
blasint blas_stride(const Tensor& vector) {
  return vector.numel() <= 1 ? 1 : static_cast<blasint>(vector.strides()[0]);
}
Tensor readable_vector(const Tensor& vector) {
  if (has_blas_stride(vector)) return vector;
  Tensor copy = tenon::empty_tensor(vector.shape(), vector.dtype());
  tenon::copy_elements(copy, vector);
  return copy;
}

// A vector, or a number, as a matrix of one column; a vector as one of one row.
Tensor column(const Tensor& vector) {
  const int64_t rows = vector.numel(), stride = vector.dim() == 0 ? 1 : vector.strides()[0];
  const int64_t shape[] = {rows, 1}, strides[] = {stride, 1};
  return tenon::alias_tensor(vector, IntList(shape, 2), IntList(strides, 2), 0);
}
Tensor row(const Tensor& vector) {
  const int64_t columns = vector.numel();
  const int64_t shape[] = {1, columns}, strides[] = {columns, vector.strides()[0]};
  return tenon::alias_tensor(vector, IntList(shape, 2), IntList(strides, 2), 0);
}

}  // namespace

void multiply(const Tensor& a, const Tensor& b, const Tensor& out, int64_t batch, double alpha,
              double beta) {
  Matrices to = matrices(out);
  if (to.rows == 0 || to.columns == 0 || batch == 0) return;
  const DType dtype = out.dtype();
  if (!tenon::is_differentiable(dtype)) {
    multiply_integers(a, b, out, batch, static_cast<int64_t>(alpha), static_cast<int64_t>(beta));
    return;
  }
  Matrices left = matrices(a), right = matrices(b);
  if (left.columns == 0) {
    if (beta == 0) {
      tenon::fill_elements(out, 0);
    } else if (beta != 1) {
      throw tenon::RuntimeError("a product of no terms cannot be added to a scaled output");
    }
    return;
  }
  if (dtype == f32) {
    if (multiply_small<float>(left, right, to, batch, alpha, beta)) return;
  } else if (dtype == f64) {
    if (multiply_small<double>(left, right, to, batch, alpha, beta)) return;
  }
  const bool folded =
      batch > 1 && (fold_batch(left, right, to, batch) || fold_columns(left, right, to, batch));
  if (folded) batch = 1;
  Tensor a_copy, b_copy;
  const Matrices ma = folded ? left : matrices(readable(a, a_copy)),
                 mb = folded ? right : matrices(readable(b, b_copy));
  if (dtype == f32) {
    multiply_as<float>(ma, mb, to, batch, static_cast<float>(alpha), static_cast<float>(beta));
  } else if (tenon::is_complex(dtype)) {
    tenon::kernel::visit_complex(dtype, [&](auto zero) {
      using T = decltype(zero);
      using Part = typename T::value_type;
      multiply_as<T>(ma, mb, to, batch, static_cast<Part>(alpha), static_cast<Part>(beta));
    });
  } else {
    multiply_as<double>(ma, mb, to, batch, alpha, beta);
  }
}

void multiply_integers(const Tensor& a, const Tensor& b, const Tensor& out, int64_t batch,
                       int64_t alpha, int64_t beta) {
  const Matrices to = matrices(out);
  if (to.rows == 0 || to.columns == 0 || batch == 0) return;
  Tensor rows = b;
  if (matrices(b).column_stride != 1) {
    rows = tenon::empty_tensor(b.shape(), b.dtype());
    tenon::copy_elements(rows, b);
  }
  tenon::visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      multiply_integers_as<T>(matrices(a), matrices(rows), to, batch, alpha, beta);
    }
  });
}

void multiply_vector(const Tensor& a, const Tensor& x, const Tensor& y) {
  const int64_t rows = a.shape()[0], columns = a.shape()[1];
  if (rows == 0) return;
  if (tenon::is_complex(y.dtype())) return multiply(a, column(x), column(y), 1, 1, 0);
  if (y.dtype() != f32 && y.dtype() != f64) {
    tenon::visit(y.dtype(), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (!std::is_same_v<T, bool>) {
        T* to = y.data<T>();
        for (int64_t i = 0; i < rows; ++i) {
          to[i] = columns == 0
                      ? T{}
                      : wrapping_sum(a.data<const T>() + i * a.strides()[0], a.strides()[1],
                                     x.data<const T>(), x.strides()[0], columns);
        }
      }
    });
    return;
  }
  // Started from zeros: gemv would multiply what it finds there, a NaN too.
  tenon::fill_elements(y, 0);
  if (columns == 0) return;
  Tensor copy;
  const Matrices m = matrices(readable(a, copy));
  const kernel::GemmLayout layout(m);
  const Tensor vector = readable_vector(x);
  const CBLAS_ORDER order = layout.transposed ? CblasColMajor : CblasRowMajor;
  const blasint n = blas_size(columns), step = blas_stride(vector);
  const blasint leading = blas_size(layout.leading);
  blas_size(rows);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const auto* matrix = reinterpret_cast<const T*>(m.data);
    const auto each = static_cast<int64_t>(2 * kernel::threaded_product) / columns;
    const kernel::Pieces pieces(rows, (rows - 1) / std::max(kVectorPiece, each) + 1);
    kernel::for_pieces(pieces.count(), multiplications(pieces.width, columns), [&](int64_t piece) {
      const int64_t begin = pieces.begin(piece);
      gemv(order, static_cast<blasint>(pieces.end(piece) - begin), n, matrix + begin * m.row_stride,
           leading, vector.data<const T>(), step, y.data<T>() + begin);
    });
  };
  if (y.dtype() == f32) {
    run(float{});
  } else {
    run(double{});
  }
}

void dot(const Tensor& a, const Tensor& b, const Tensor& out) {
  const int64_t count = a.numel();
  if (count == 0) {
    tenon::fill_elements(out, 0);
    return;
  }
  if (tenon::is_complex(out.dtype())) return multiply(row(a), column(b), column(out), 1, 1, 0);
  if (out.dtype() != f32 && out.dtype() != f64) {
    tenon::visit(out.dtype(), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (!std::is_same_v<T, bool>) {
        *out.data<T>() = wrapping_sum(a.data<const T>(), a.strides()[0], b.data<const T>(),
                                      b.strides()[0], count);
      }
    });
    return;
  }
  const Tensor x = readable_vector(a), y = readable_vector(b);
  const blasint x_step = blas_stride(x), y_step = blas_stride(y);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const int64_t pieces = (count + kDotPiece - 1) / kDotPiece;
    std::vector<T> sums(static_cast<size_t>(pieces));
    tenon::parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
      const kernel::OneOpenmpThread serial;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = i * kDotPiece;
        sums[static_cast<size_t>(i)] = dot(static_cast<blasint>(std::min(kDotPiece, count - from)),
                                           x.data<const T>() + from * x_step, x_step,
                                           y.data<const T>() + from * y_step, y_step);
      }
    });
    T total = 0;
    for (const T sum : sums) total += sum;
    *out.data<T>() = total;
  };
  if (out.dtype() == f32) {
    run(float{});
  } else {
    run(double{});
  }
}

}  // namespace blas
