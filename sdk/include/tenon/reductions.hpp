// Reductions of the whole tensor whose ops need a dimension, as PyTorch has them: median(x), argmax(x) and
// others have one already.
#pragma once

#include "tenon/math_ops.hpp"

TENON_NAMESPACE_BEGIN

// The largest, or smallest, of all elements, without dimensions; NaN where one is. Elements that tie
// share the gradient. ValueError for a tensor without elements.
inline Tensor max(const Tensor& input) { return amax(input); }
inline Tensor min(const Tensor& input) { return amin(input); }  // the whole; 0-d

TENON_NAMESPACE_END
