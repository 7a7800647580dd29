// Products of strided matrices: BLAS by flags where the layout allows it, copies and plain loops
// elsewhere.
#pragma once

#include <string>

#include <tenon/plugin.hpp>
#include <tenon/kernel/matrix_product.hpp>
#include <tenon/ops.hpp>

#include "shared_ops/product_checks.hpp"

namespace blas {

using tenon::DType;
using tenon::IntList;
using tenon::Tensor;
using namespace products;

namespace kernel = tenon::kernel;
using kernel::Matrices, kernel::matrices;

// out = alpha * a b + beta * out for each of `batch` products; with beta 0 what is in `out` is not
// read. Any strides of the operands, any dtype but bool; `out` must have a gemm layout, and be
// row-major for integers.
void multiply(const Tensor& a, const Tensor& b, const Tensor& out, int64_t batch, double alpha,
              double beta);
// Products of integer tensors, with whole factors.
void multiply_integers(const Tensor& a, const Tensor& b, const Tensor& out, int64_t batch,
                       int64_t alpha, int64_t beta);

// y = a x for a matrix and a vector, and the sum of products of two vectors.
void multiply_vector(const Tensor& a, const Tensor& x, const Tensor& y);
void dot(const Tensor& a, const Tensor& b, const Tensor& out);

// For the rules that products share.
struct Gemm {
  static void multiply(const Tensor& a, const Tensor& b, const Tensor& out, int64_t batch,
                       double alpha, double beta) {
    blas::multiply(a, b, out, batch, alpha, beta);
  }
};

}  // namespace blas
