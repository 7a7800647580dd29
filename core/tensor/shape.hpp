// Strided shape arithmetic: counts, contiguous strides, broadcasting, printed form.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "tenon/abi/tensor.h"

namespace tenon::core {

using Shape = std::span<const int64_t>;

// A shape (or strides) held by value.
struct Sizes {
  int64_t values[TENON_MAX_RANK];
  int64_t rank = 0;

  operator Shape() const { return {values, static_cast<size_t>(rank)}; }
  int64_t operator[](int64_t index) const { return values[index]; }
};
inline Sizes sizes_of(Shape shape) {
  Sizes sizes;
  std::copy(shape.begin(), shape.end(), sizes.values);
  sizes.rank = static_cast<int64_t>(shape.size());
  return sizes;
}

inline bool same_shape(Shape a, Shape b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// "[2, 3]"
std::string shape_text(Shape shape);

// Number of elements. Throws ValueError for a negative size, a rank above TENON_MAX_RANK, or a
// count that does not fit in 63 bits.
int64_t element_count(Shape shape);

// Row-major strides, in elements; a size of 0 counts as 1, so strides stay distinct.
void contiguous_strides(Shape shape, int64_t* strides) noexcept;

// The shape that both expand to. Throws ValueError naming both shapes and the first dimension of
// the result in which they differ.
Sizes broadcast_shapes(Shape a, Shape b);
// Strides that read a tensor of `shape` as if it had shape `target`; 0 where it is repeated. Throws
// ValueError when it cannot be expanded so.
Sizes expanded_strides(Shape shape, Shape strides, Shape target);

}  // namespace tenon::core
