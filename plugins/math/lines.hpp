// Loops over the lines of a contiguous tensor along one dimension, and keys by which elements are
// sorted.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tenon/kernel/rows.hpp>

#include "dimensions.hpp"

namespace math {

// Calls body(line, first element) for every line in turn, on several threads where that is worth
// while. Elements of a line are `lines.inner` apart.
template <class Body>
void each_line(const kernel::Lines& lines, const Body& body) {
  kernel::for_rows(lines.outer * lines.inner, lines.size, [&](int64_t from, int64_t to) {
    for (int64_t line = from; line < to; ++line)
      body(line, line / lines.inner * lines.size * lines.inner + line % lines.inner);
  });
}

template <size_t Size>
using UnsignedOf = std::conditional_t<
    Size == 1, uint8_t,
    std::conditional_t<Size == 2, uint16_t, std::conditional_t<Size == 4, uint32_t, uint64_t>>>;

// A number whose order is that of the elements: zeros are equal, NaN is the largest.
template <class T>
UnsignedOf<sizeof(T)> ordered_key(T element) {
  using Key = UnsignedOf<sizeof(T)>;
  constexpr auto sign = static_cast<Key>(Key{1} << (sizeof(T) * 8 - 1));
  if constexpr (std::is_floating_point_v<T>) {
    if (element != element) return static_cast<Key>(~Key{0});
    if (element == 0) return sign;
    Key bits;
    std::memcpy(&bits, &element, sizeof(bits));
    return (bits & sign) != 0 ? ~bits : bits | sign;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Key>(static_cast<Key>(element) ^ sign);
  } else {
    return element;
  }
}
// The key of an element for the reverse order.
template <class T>
UnsignedOf<sizeof(T)> reversed_key(T element) {
  return static_cast<UnsignedOf<sizeof(T)>>(~ordered_key(element));
}

// Whether several elements have this key of ordered_key: zeros and NaN.
template <class T>
bool shares_key(UnsignedOf<sizeof(T)> key) {
  using Key = UnsignedOf<sizeof(T)>;
  if constexpr (std::is_floating_point_v<T>)
    return key == static_cast<Key>(Key{1} << (sizeof(T) * 8 - 1)) ||
           key == static_cast<Key>(~Key{0});
  else
    return false;
}
// The element that has a key alone.
template <class T>
T element_of(UnsignedOf<sizeof(T)> key) {
  using Key = UnsignedOf<sizeof(T)>;
  constexpr auto sign = static_cast<Key>(Key{1} << (sizeof(T) * 8 - 1));
  if constexpr (std::is_floating_point_v<T>) {
    const Key bits = (key & sign) != 0 ? key ^ sign : ~key;
    T element;
    std::memcpy(&element, &bits, sizeof(element));
    return element;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(key ^ sign);
  } else {
    return key;
  }
}

// The elements in row-major order; bools as u8, of which kernels know the values: 0 and 1.
inline Tensor elements_in_order(const Tensor& input) {
  return contiguous_as(input, input.dtype() == boolean ? u8 : input.dtype());
}

}  // namespace math
