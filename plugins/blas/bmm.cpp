// bmm: the products of two equally long runs of matrices.
#include "product.hpp"
#include "shared_ops/product.hpp"

namespace {
struct Bmm : products::BmmRules<Bmm, blas::Gemm> {};
}  // namespace
TENON_OP(Bmm)
