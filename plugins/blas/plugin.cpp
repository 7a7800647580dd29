// The blas plugin: matrix products on OpenBLAS, whose only home in the process this is.
#include "product.hpp"

#define BLAS(op, module) op(Mm) op(Mv) op(Dot) op(Bmm) op(Addmm) op(Matmul) op(Outer)
TENON_PLUGIN_WITH(blas, "0.1.0", BLAS, TENON_PLUGIN_RESIDENT, nullptr)
