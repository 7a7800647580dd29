// The largest error of an op and of its gradient, in units of the last place of the exact result.
#pragma once

#include <cstdint>

#include <tenon/tenon.hpp>

#include "functions.hpp"

namespace accuracy {

struct Error {
  double units =
      0;  // infinite: NaN or an infinity where the exact function has a number, or vice versa
  Numbers operands;
  double found = 0, exact = 0;
};
struct Errors {
  Error result, gradient;          // the gradient by whichever operand has the larger error
  int64_t count = 0, by_mpfr = 0;  // operands, and those that were compared with MPFR
};

// The largest errors over `count` operands, drawn by their number alone: every exponent, both signs and
// subnormal numbers, and more of those from 2^-12 to 2^8 and near 1, where functions have features.
// Quick numbers, whose errors have proven bounds, pass over operands whose error is not the largest so far:
// MPFR decides all others, and the result is the one that MPFR alone, without `quick`, would find.
Errors measure(const Function& function, tenon::DType dtype, int64_t count, bool quick = true);

// An accuracy as ops state it: "f32 0.6, f64 0.9; gradient f32 2.5, f64 2.5", or "exact".
struct Bounds {
  double f32 = 0, f64 = 0, gradient_f32 = 0, gradient_f64 = 0;
};
Bounds parse_bounds(const std::string& accuracy);

}  // namespace accuracy
