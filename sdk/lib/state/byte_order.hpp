// Numbers of the other byte order.
#pragma once

#include <algorithm>
#include <cstdint>

#include <tenon/value.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

// Bytes of one number of an element: a complex one holds two numbers.
inline int64_t number_bytes(tenon_dtype dtype) {
  const int64_t bytes = element_size(static_cast<DType>(dtype));
  return dtype == TENON_C64 || dtype == TENON_C128 ? bytes / 2 : bytes;
}

// Turns the bytes of each number around.
inline void swap_bytes(char* data, int64_t bytes, int64_t width) {
  if (width == 1) return;
  for (char* const end = data + bytes; data != end; data += width) std::reverse(data, data + width);
}

}  // namespace state

TENON_NAMESPACE_END
