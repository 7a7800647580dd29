// The ops of math and blas as typed functions and as methods of Tensor, with the operators. Functions
// and methods are generated from the built plugins, see "Typed wrappers" in sdk/docs/how_to/op.md.
#pragma once

#include "tenon/blas_ops.hpp"
#include "tenon/math_ops.hpp"
#include "tenon/operators.hpp"

TENON_NAMESPACE_BEGIN

// For rules, which multiply by the conjugate of a derivative: conj() of a complex tensor; a real one
// itself, without a call.
inline Tensor conjugate(const Tensor& x) { return is_complex(x.dtype()) ? conj(x) : x; }

TENON_NAMESPACE_END
