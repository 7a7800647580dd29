// Operands that may be numbers, or of another dtype, for gradient rules that calculate with them.
#pragma once

#include <tenon/plugin.hpp>

// Operand `i` of the call as a tensor of `dtype`: integers would wrap in what rules calculate.
inline tenon::Tensor operand_as(const tenon::Context& c, int64_t i, tenon::DType dtype) {
  const tenon_value value = c.operand(i).value();
  if (value.tag == TENON_VALUE_TENSOR) return c.tensor(i).to(dtype);
  return tenon::full({}, tenon::Scalar(value), dtype);
}
