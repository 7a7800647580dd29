// Products of strided matrices: BLAS by flags where the layout allows it, copies and plain loops
// elsewhere.
#pragma once

#include <string>

#include <tenon/kernel/check.hpp>
#include <tenon/kernel/matrix_product.hpp>
#include <tenon/plugin.hpp>

namespace blas {

using tenon::DType;
using tenon::IntList;
using tenon::Tensor;
using tenon::kernel::shape_text;

namespace kernel = tenon::kernel;
using kernel::Matrices, kernel::matrices;

// out = alpha * a b + beta * out for each of `batch` products; with beta 0 what is in `out` is not
// read. Any strides of the operands, any dtype but bool; `out` must have a gemm layout, and be
// row-major for integers.
void multiply(const Tensor& a, const Tensor& b, const Tensor& out, int64_t batch, double alpha,
              double beta);
// The same with whole numbers, for integer tensors.
void multiply_integers(const Tensor& a, const Tensor& b, const Tensor& out, int64_t batch,
                       int64_t alpha, int64_t beta);

// y = a x for a matrix and a vector, and the sum of products of two vectors.
void multiply_vector(const Tensor& a, const Tensor& x, const Tensor& y);
void dot(const Tensor& a, const Tensor& b, const Tensor& out);

// ---- refusals ----
[[noreturn]] void throw_rank(const char* op, const char* name, int64_t expected,
                             const Tensor& found);
[[noreturn]] void throw_inner_sizes(const char* op, const Tensor& a, const Tensor& b);
[[noreturn]] void throw_batch_sizes(const char* op, const Tensor& a, const Tensor& b);
[[noreturn]] void throw_bool(const char* op);

inline void check_rank(const char* op, const char* name, int64_t expected, const Tensor& found) {
  if (__builtin_expect(found.dim() != expected, 0)) throw_rank(op, name, expected, found);
}
inline void check_dtypes(const char* op, const char* a_name, const Tensor& a, const char* b_name,
                         const Tensor& b) {
  tenon::kernel::check_same_dtype(op, a_name, a, b_name, b);
  if (__builtin_expect(a.dtype() == tenon::boolean, 0)) throw_bool(op);
}
inline void check_inner_sizes(const char* op, const Tensor& a, const Tensor& b, int64_t a_size,
                              int64_t b_size) {
  if (__builtin_expect(a_size != b_size, 0)) throw_inner_sizes(op, a, b);
}

}  // namespace blas
