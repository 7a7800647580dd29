// Two numbers scaled by a power of 2, by which the larger one is near 1: no square of them leaves the range.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <tenon/plugin.hpp>

namespace math {

template <class T>
struct ScaledPair {
  static constexpr T endless = std::numeric_limits<T>::infinity();
  T size_x, size_y;  // as given
  T scale;
  T x, y;  // times the scale
  T squares;

  TENON_INLINE ScaledPair(T given_x, T given_y)
      : size_x(std::fabs(given_x)),
        size_y(std::fabs(given_y)),
        scale(scale_of(size_x > size_y ? size_x : size_y)),
        x(given_x * scale),
        y(given_y * scale),
        squares(x * x + y * y) {}

 private:
  static TENON_INLINE T scale_of(T size) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    using Limits = std::numeric_limits<T>;
    constexpr int digits = Limits::digits - 1;
    constexpr T largest = Limits::max() / T{4};
    constexpr Bits exponent = Bits{2 * Limits::max_exponent - 1} << digits;
    constexpr Bits highest = Bits{2 * Limits::max_exponent - 2} << digits;
    const Bits bits = __builtin_bit_cast(Bits, size < largest ? size : largest) & exponent;
    return __builtin_bit_cast(T, static_cast<Bits>(highest - bits));
  }
};

}  // namespace math
