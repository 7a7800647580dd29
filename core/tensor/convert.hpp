// One element from one dtype to another, defined for every value.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "tenon/abi/complex.h"
#include "tenon/abi/half.h"

namespace tenon::core {

// The form in memory: a stored bool is a byte that is true when it is not 0.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class T>
inline constexpr bool is_half = std::is_same_v<T, tenon_f16> || std::is_same_v<T, tenon_bf16>;

template <class T>
inline constexpr bool is_complex = std::is_same_v<T, tenon_c64> || std::is_same_v<T, tenon_c128>;
// Whether every element of From has its like in To: the imaginary parts of complex numbers have
// none in real ones.
template <class To, class From>
inline constexpr bool converts = is_complex<To> || !is_complex<From> || std::is_same_v<To, bool>;

inline float widen(tenon_f16 half) { return tenon_f16_to_f32(half); }
inline float widen(tenon_bf16 half) { return tenon_bf16_to_f32(half); }

// To the nearest, in one rounding.
template <class Half>
inline Half narrow(float number) {
  if constexpr (std::is_same_v<Half, tenon_f16>)
    return tenon_f32_to_f16(number);
  else
    return tenon_f32_to_bf16(number);
}
template <class Half>
inline Half narrow(double number) {
  return narrow<Half>(tenon_f64_to_odd_f32(number));
}
// Beyond 53 bits, the last ones that a double holds are replaced by whether they are 0: enough to
// round to fewer.
template <class Half, class Integer>
inline Half narrow_integer(Integer number) {
  if constexpr (sizeof(Integer) == 8) {
    constexpr Integer kLast = (Integer{1} << 11) - 1;
    constexpr Integer kExact = Integer{1} << 53;
    bool exact = number < kExact || (number & kLast) == 0;
    if constexpr (std::is_signed_v<Integer>)
      exact = (exact && number > -kExact) || (number & kLast) == 0;
    number = exact ? number : (number & ~kLast) | (Integer{1} << 11);
  }
  return narrow<Half>(static_cast<double>(number));
}

// Truncates; stops at the ends of the range; NaN gives 0. Only selections, no branches: it
// vectorizes.
template <class To, class From>
inline To saturate(From value) {
  using Limits = std::numeric_limits<To>;
  if constexpr (Limits::digits < std::numeric_limits<From>::digits) {
    // Both ends are exact: cut to them first, and go through the width that processors convert to.
    constexpr From kLowest = static_cast<From>(Limits::min());
    constexpr From kHighest = static_cast<From>(Limits::max());
    From cut = value < kHighest ? value : kHighest;
    cut = cut > kLowest ? cut : kLowest;
    cut = std::isnan(value) ? From{0} : cut;
    using Through =
        std::conditional_t<sizeof(To) < sizeof(int32_t) || std::is_signed_v<To>, int32_t, int64_t>;
    return static_cast<To>(static_cast<Through>(cut));
  } else {
    // The first value beyond the range is a power of two, so exact; the last one inside is not.
    constexpr From kBeyond = static_cast<From>(uint64_t{1} << (Limits::digits - 1)) * 2;
    constexpr From kLowest = static_cast<From>(Limits::min());
    const bool inside = value > kLowest && value < kBeyond;
    const To cut = static_cast<To>(inside ? value : From{0});
    const To high = value >= kBeyond ? Limits::max() : cut;
    return value <= kLowest ? Limits::min() : high;
  }
}

// Whether a number, its fraction cut off, is a value of To; floating types and bool take every
// number.
template <class To, class Number>
inline bool fits(Number number) {
  if constexpr (!std::is_integral_v<To> || std::is_same_v<To, bool>) {
    return true;
  } else if constexpr (std::is_floating_point_v<Number>) {
    constexpr auto kBeyond =
        static_cast<Number>(uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
    constexpr auto kLowest = static_cast<Number>(std::numeric_limits<To>::min());
    return number < kBeyond && std::trunc(number) >= kLowest;
  } else {
    return std::in_range<To>(number);
  }
}

template <class To, class From>
inline Stored<To> convert(Stored<From> value) {
  static_assert(converts<To, From>);
  if constexpr (std::is_same_v<To, From> && !std::is_same_v<To, bool>) {
    return value;
  } else if constexpr (is_complex<To>) {
    using Part = decltype(To::real);
    if constexpr (is_complex<From>)
      return {static_cast<Part>(value.real), static_cast<Part>(value.imag)};
    else
      return {convert<Part, From>(value), Part{0}};
  } else if constexpr (is_complex<From>) {
    return value.real != 0 || value.imag != 0;
  } else if constexpr (is_half<From>) {
    return convert<To, float>(widen(value));
  } else if constexpr (is_half<To>) {
    if constexpr (std::is_same_v<From, bool>)
      return narrow<To>(value != 0 ? 1.0F : 0.0F);
    else if constexpr (std::is_floating_point_v<From>)
      return narrow<To>(value);
    else
      return narrow_integer<To>(value);
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != 0;
  } else if constexpr (std::is_same_v<From, bool>) {
    return static_cast<To>(value != 0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return saturate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace tenon::core
