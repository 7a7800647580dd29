// mm: the product of two matrices.
#include "product.hpp"
#include "shared_ops/product.hpp"

namespace {
struct Mm : products::MmRules<Mm, blas::Gemm> {};
}  // namespace
TENON_OP(Mm)
