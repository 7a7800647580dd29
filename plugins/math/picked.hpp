// The rules of ops that pick elements along a dimension: results (values, indices).
#pragma once

#include <tuple>

#include "dimensions.hpp"

namespace math {

// The gradient of the values at the places that they were picked from.
template <class Op>
Tensor put_picked(ContextOf<Op>& c, const Tensor& g, int64_t dim) {
  return expanded_zeros(c["input"_arg].shape(), g.dtype()).scatter_add(dim, c["indices"_result], g);
}
// The tangents of the picked elements.
template <class Op>
std::tuple<Tensor, Tensor> take_picked(ContextOf<Op>& c, const Tensor& tangent, int64_t dim) {
  return {tangent.gather(dim, c["indices"_result]), Tensor()};
}

}  // namespace math
