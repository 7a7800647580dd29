// Shapes by value and dimensions as ops take them: held without the heap, wrapped, checked,
// printed.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/value.hpp"

TENON_NAMESPACE_BEGIN
namespace kernel {

// A shape or strides, of at most TENON_MAX_RANK dimensions.
struct Shape {
  int64_t sizes[TENON_MAX_RANK];  // the first `rank` are set
  int64_t rank = 0;               // number of dimensions

  Shape() = default;
  Shape(IntList list) : rank(list.size()) {  // a copy
    for (int64_t i = 0; i < rank; ++i) sizes[i] = list[i];
  }
  void push(int64_t size) { sizes[rank++] = size; }  // appends
  void erase(int64_t at) {                           // removes a dimension
    --rank;
    for (int64_t i = at; i < rank; ++i) sizes[i] = sizes[i + 1];
  }
  void insert(int64_t at, int64_t size) {  // inserts a dimension
    for (int64_t i = rank++; i > at; --i) sizes[i] = sizes[i - 1];
    sizes[at] = size;
  }
  int64_t& operator[](int64_t i) { return sizes[i]; }       // without a check
  int64_t operator[](int64_t i) const { return sizes[i]; }  // without a check
  const int64_t* begin() const { return sizes; }            // borrowed
  const int64_t* end() const { return sizes + rank; }       // borrowed
  operator IntList() const { return {sizes, rank}; }        // borrowed
};

inline bool same_shape(IntList a, IntList b) {  // equal sizes
  if (a.size() != b.size()) return false;
  for (int64_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

inline int64_t count_elements(IntList shape) {  // the product
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

// Strides of a contiguous tensor, in elements; a dimension of size 0 counts as 1.
inline Shape row_major_strides(IntList shape) {
  Shape strides;
  strides.rank = shape.size();
  uint64_t stride = 1;  // wraps: sizes beside one of 0 may be any
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    strides[i] = static_cast<int64_t>(stride);
    if (shape[i] > 1) stride *= static_cast<uint64_t>(shape[i]);
  }
  return strides;
}

// "[2, 3]"
inline std::string shape_text(IntList shape) {
  std::string text = "[";
  for (int64_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

namespace detail {
[[noreturn]] inline void throw_dimension(const char* op, int64_t dim, int64_t rank) {
  const int64_t limit = rank == 0 ? 1 : rank;
  tenon::detail::throw_message(
      TENON_ERROR_INDEX, {op, "(): dimension ", dim, " is out of range for a tensor of ", rank,
                          " dimensions (expected ", -limit, " to ", limit - 1, ")"});
}
}  // namespace detail

// A dimension from 0 on; negative ones count from the end. A 0-dim tensor counts as one of one
// dimension. IndexError outside.
inline int64_t wrap_dimension(const char* op, int64_t dim, int64_t rank) {
  const int64_t limit = rank == 0 ? 1 : rank;
  if (dim < -limit || dim >= limit) detail::throw_dimension(op, dim, rank);
  return dim < 0 ? dim + limit : dim;
}

// One bit for each dimension of `dims`. ValueError when one is named twice.
inline uint32_t dimension_mask(const char* op, IntList dims, int64_t rank) {
  uint32_t mask = 0;
  for (const int64_t dim : dims) {
    const uint32_t bit = 1u << wrap_dimension(op, dim, rank);
    if ((mask & bit) != 0) {
      tenon::detail::throw_message(
          TENON_ERROR_VALUE,
          {op, "(): dimension ", dim, " appears more than once in ", shape_text(dims)});
    }
    mask |= bit;
  }
  return mask;
}

}  // namespace kernel
TENON_NAMESPACE_END
