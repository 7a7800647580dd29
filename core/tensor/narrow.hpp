// Elements of f8, f6 and f4: converted to and from f32 and f64, as the OCP specifications OFP8 1.0 and MX
// 1.0 say.
#pragma once

#include <cstdint>

#include "core/tensor/dtype.hpp"

namespace tenon::core {

// Converts n elements at fixed distances (in bytes).
using Row = void (*)(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count);

// The loop between a narrow dtype and f32, or from f64 to a narrow one; null for any other pair. To a
// narrow one: to the nearest, ties to even; what is too large, infinity included, becomes the largest
// number; NaN stays NaN, in f6 and f4, which have none, it becomes the largest number. f8_e8m0, powers of
// two without a sign, has NaN for negative numbers and 2^-127 for 0.
Row narrow_row(tenon_dtype to, tenon_dtype from);

// The dtype by which such a conversion goes in two loops; TENON_DTYPE_NONE where one is enough, and where
// neither dtype is narrow.
constexpr tenon_dtype narrow_step(tenon_dtype to, tenon_dtype from) {
  if (to == from) return TENON_DTYPE_NONE;
  const bool widens = dtype_narrow(from);
  if (widens ? to == TENON_F32 : !dtype_narrow(to) || from == TENON_F32 || from == TENON_F64)
    return TENON_DTYPE_NONE;
  if (widens || dtype_half(from)) return TENON_F32;
  return TENON_F64;
}

}  // namespace tenon::core
