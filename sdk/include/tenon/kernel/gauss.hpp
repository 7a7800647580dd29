// exp(-x^2) to the last digits, in loops that vectorize.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tenon/kernel/math.hpp"

TENON_NAMESPACE_BEGIN
namespace kernel {

// exp(-factor x^2), factor 1 or 1/2: the end below is that of these. The square is rounded, and a unit of a large exponent is
// many of the power: what rounding took away is multiplied afterwards.
template <class T>
TENON_INLINE T gauss(T x, T factor = 1) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr T end = sizeof(T) == 4 ? T{16} : T{40};  // all is 0 there, and no square overflows
  constexpr Bits upper_half = ~(sizeof(T) == 4 ? Bits{0xfff} : Bits{0x7ffffff});
  const T size = std::fabs(x), near = size > end ? end : size;
  const T high = __builtin_bit_cast(T, __builtin_bit_cast(Bits, near) & upper_half);
  const T square = near * near;
  const T rest = (high * high - square) + (near - high) * (near + high);
  const T power = exp(-factor * square);
  return power - power * (factor * rest);
}

}  // namespace kernel
TENON_NAMESPACE_END
