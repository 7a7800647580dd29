// Stands for the generated header while math and blas are built: see plugins/README.md.
#pragma once

#include <tuple>

#include <tenon/op.hpp>

TENON_NAMESPACE_BEGIN

#define TENON_OWN_OP(name)                                                            \
  TENON_OP_FUNCTION(Tensor, name, #name)                                              \
  inline Tensor Tensor::name(const Argument& a, const Argument& b, const Argument& c, \
                             const Argument& d) const {                               \
    return v1::name(*this, a, b, c, d);                                               \
  }
#include "tenon/own_ops.inc"
#undef TENON_OWN_OP

// Operators come with all of their op's arguments, so that a call fills in nothing.
inline Tensor add(const Argument& input, const Argument& other, const Argument& alpha = 1) {
  static detail::WrappedOp op("add");
  const tenon_value given[] = {input.value(), other.value(), alpha.value(), Argument(none).value()};
  return op.call<Tensor>(given);
}
inline Tensor sub(const Argument& input, const Argument& other, const Argument& alpha = 1) {
  static detail::WrappedOp op("sub");
  const tenon_value given[] = {input.value(), other.value(), alpha.value(), Argument(none).value()};
  return op.call<Tensor>(given);
}
inline Tensor mul(const Argument& input, const Argument& other, const Argument& out = none) {
  static detail::WrappedOp op("mul");
  const tenon_value given[] = {input.value(), other.value(), out.value()};
  return op.call<Tensor>(given);
}
inline Tensor div(const Argument& input, const Argument& other, const Argument& out = none) {
  static detail::WrappedOp op("div");
  const tenon_value given[] = {input.value(), other.value(), out.value()};
  return op.call<Tensor>(given);
}
inline Tensor neg(const Argument& input, const Argument& out = none) {
  static detail::WrappedOp op("neg");
  const tenon_value given[] = {input.value(), out.value()};
  return op.call<Tensor>(given);
}
inline Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) {
  static const Op op("cat");
  return op.call<Tensor>(tensors, dim);
}

TENON_NAMESPACE_END
