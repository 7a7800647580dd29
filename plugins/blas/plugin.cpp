// The blas plugin: matrix products and factors on OpenBLAS, whose only home in the process this is.
#include "product.hpp"

TENON_PLUGIN(blas, "1.0.0")
