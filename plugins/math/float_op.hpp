// Bases of elementwise ops that compute floats of every operand: exp of an integer tensor is f32.
#pragma once

#include <tenon/plugin.hpp>

// Ops of real numbers.
struct RealFloatOp {
  static constexpr auto promotion = tenon::promote_float;
  static constexpr auto jvp = tenon::pointwise;
};
// Ops of real and complex numbers.
struct FloatOp : RealFloatOp {
  static constexpr uint32_t dtypes = tenon::floating_dtypes | tenon::complex_dtypes;
};
