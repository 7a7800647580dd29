// The imaginary unit, for rules of complex functions.
#pragma once

#include <tenon/ops.hpp>

// i x of complex numbers.
inline tenon::Tensor times_i(const tenon::Tensor& x) {
  static const tenon::Op complex("complex");
  return complex.call<tenon::Tensor>(-tenon::imag(x), tenon::real(x));
}
