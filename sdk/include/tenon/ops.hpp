// The ops of math and blas as typed functions, as methods of Tensor, and as operators. Functions
// and methods are generated from the built plugins, see "Typed wrappers" in sdk/docs/how_to/op.md.
#pragma once

#include "tenon/blas_ops.hpp"
#include "tenon/indexing.hpp"
#include "tenon/math_ops.hpp"

TENON_NAMESPACE_BEGIN

// Flattened: one function call less for each operation.
[[gnu::flatten]] inline Tensor operator+(const Tensor& a, const Argument& b) { return add(a, b); }
[[gnu::flatten]] inline Tensor operator+(const Scalar& a, const Tensor& b) { return add(a, b); }
[[gnu::flatten]] inline Tensor operator-(const Tensor& a, const Argument& b) { return sub(a, b); }
[[gnu::flatten]] inline Tensor operator-(const Scalar& a, const Tensor& b) { return sub(a, b); }
[[gnu::flatten]] inline Tensor operator*(const Tensor& a, const Argument& b) { return mul(a, b); }
[[gnu::flatten]] inline Tensor operator*(const Scalar& a, const Tensor& b) { return mul(a, b); }
[[gnu::flatten]] inline Tensor operator/(const Tensor& a, const Argument& b) { return div(a, b); }
[[gnu::flatten]] inline Tensor operator/(const Scalar& a, const Tensor& b) { return div(a, b); }
inline Tensor operator<(const Tensor& a, const Argument& b) { return lt(a, b); }
inline Tensor operator<(const Scalar& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Argument& b) { return le(a, b); }
inline Tensor operator<=(const Scalar& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Argument& b) { return gt(a, b); }
inline Tensor operator>(const Scalar& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Argument& b) { return ge(a, b); }
inline Tensor operator>=(const Scalar& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator-(const Tensor& a) { return neg(a); }
// For rules, which multiply by the conjugate of a derivative: conj() of a complex tensor; a real one
// itself, without a call.
inline Tensor conjugate(const Tensor& x) { return is_complex(x.dtype()) ? conj(x) : x; }
inline Tensor& operator+=(Tensor& a, const Argument& b) {
  add_(a, b);
  return a;
}
inline Tensor& operator-=(Tensor& a, const Argument& b) {
  sub_(a, b);
  return a;
}
inline Tensor& operator*=(Tensor& a, const Argument& b) {
  mul_(a, b);
  return a;
}
inline Tensor& operator/=(Tensor& a, const Argument& b) {
  div_(a, b);
  return a;
}

TENON_NAMESPACE_END
