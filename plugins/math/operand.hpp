// Operands that may be numbers, or of another dtype, for gradient rules that calculate with them.
#pragma once

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

// An operand as a tensor of `dtype`: integers would wrap in what rules calculate.
inline tenon::Tensor operand_as(const tenon::Argument& operand, tenon::DType dtype) {
  const tenon_value& value = operand.value();
  if (value.tag == TENON_VALUE_TENSOR) return tenon::Tensor::borrow(value.as.tensor).to(dtype);
  return tenon::full({}, tenon::Scalar(value), dtype);
}
// g * conj(operand), and g / conj(operand).
inline tenon::Tensor times_conjugate(const tenon::Tensor& g, const tenon::Argument& operand) {
  const tenon_value& value = operand.value();
  if (value.tag != TENON_VALUE_TENSOR) return g * operand;
  return g * tenon::conjugate(tenon::Tensor::borrow(value.as.tensor));
}
inline tenon::Tensor over_conjugate(const tenon::Tensor& g, const tenon::Argument& operand) {
  const tenon_value& value = operand.value();
  if (value.tag != TENON_VALUE_TENSOR) return g / operand;
  return g / tenon::conjugate(tenon::Tensor::borrow(value.as.tensor));
}
