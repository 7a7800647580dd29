// Products of small matrices: tiles of the result in registers. A general product would spend as long
// on arranging its operands.
#pragma once

#include <tenon/kernel/matrix_product.hpp>

namespace blas {

// out = alpha * a b + beta * out for each of `batch` products, all of them of at least one element and
// one term; with beta 0 what is in `out` is not read. Any strides of the operands; `out` has a gemm layout.
// False, and nothing is done, where a BLAS is as fast. T: float or double, of all three.
template <class T>
bool multiply_small(const tenon::kernel::Matrices& a, const tenon::kernel::Matrices& b,
                    const tenon::kernel::Matrices& out, int64_t batch, double alpha, double beta);

}  // namespace blas
