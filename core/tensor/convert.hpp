// One element from one dtype to another, defined for every value.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tenon::core {

// The form in memory: a stored bool is a byte that is true when it is not 0.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

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
    cut = value == value ? cut : From{0};
    return static_cast<To>(static_cast<int32_t>(cut));
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
  if constexpr (std::is_floating_point_v<To> || std::is_same_v<To, bool>) {
    return true;
  } else if constexpr (std::is_floating_point_v<Number>) {
    constexpr auto kBeyond =
        static_cast<Number>(uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
    constexpr auto kLowest = static_cast<Number>(std::numeric_limits<To>::min());
    return number < kBeyond && std::trunc(number) >= kLowest;
  } else {
    return static_cast<Number>(static_cast<To>(number)) == number;
  }
}

template <class To, class From>
inline Stored<To> convert(Stored<From> value) {
  if constexpr (std::is_same_v<To, From> && !std::is_same_v<To, bool>) {
    return value;
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
