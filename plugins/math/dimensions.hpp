// Shared code of the ops on shapes.
#pragma once

#include <tenon/plugin.hpp>
#include <tenon/kernel/check.hpp>
#include <tenon/ops.hpp>

namespace math {

using namespace tenon;
using kernel::dimension_mask, kernel::wrap_dimension;
using kernel::Shape, kernel::row_major_strides, kernel::same_shape, kernel::shape_text;

// Zeros of a shape that cost one element: what scattering starts from.
inline Tensor expanded_zeros(IntList shape, DType dtype) {
  return zeros(IntList(), dtype).expand(shape);
}

}  // namespace math
