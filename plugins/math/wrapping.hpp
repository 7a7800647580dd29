// Integers that wrap around instead of overflowing; all other numbers as they are.
#pragma once

#include <cstdint>
#include <type_traits>

// The number to calculate with: +, - and * of it are defined for all integers, modulo their width.
template <class T>
constexpr auto wrapping(T x) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>(x);
  } else {
    return x;
  }
}
