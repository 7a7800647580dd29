// Operands that may be numbers, for gradient rules that calculate with them.
#pragma once

#include <tenon/plugin.hpp>

// Operand `i` of the call as a tensor; a number becomes a 0-dim tensor of the dtype of `like`.
inline tenon::Tensor operand_tensor(const tenon::Context& c, int64_t i, const tenon::Tensor& like) {
  const tenon_value value = c.operand(i).value();
  if (value.tag == TENON_VALUE_TENSOR) return c.tensor(i);
  return tenon::full({}, tenon::Scalar(value), like.dtype());
}
