// Dimensions and shapes as ops take them: held without the heap, wrapped, checked, printed.
#pragma once

#include <tenon/plugin.hpp>

namespace math {

using namespace tenon;

// A shape or strides by value.
struct Sizes {
  int64_t values[TENON_MAX_RANK];
  int64_t rank = 0;

  Sizes() = default;
  Sizes(IntList list) : rank(list.size()) {
    for (int64_t i = 0; i < rank; ++i) values[i] = list[i];
  }
  void push(int64_t size) { values[rank++] = size; }
  void erase(int64_t at) {
    --rank;
    for (int64_t i = at; i < rank; ++i) values[i] = values[i + 1];
  }
  void insert(int64_t at, int64_t size) {
    for (int64_t i = rank++; i > at; --i) values[i] = values[i - 1];
    values[at] = size;
  }
  int64_t& operator[](int64_t i) { return values[i]; }
  int64_t operator[](int64_t i) const { return values[i]; }
  operator IntList() const { return {values, rank}; }
};

bool same(IntList a, IntList b);
int64_t product(IntList sizes);
Sizes row_major_strides(IntList shape);
// "[2, 3]"
std::string text(IntList list);

[[noreturn]] void throw_dimension(const char* op, int64_t dim, int64_t rank);
[[noreturn]] void throw_rank(const char* op, int64_t rank);

// A dimension from 0 on; negative ones count from the end. A 0-dim tensor counts as one of one
// dimension.
inline int64_t wrap_dimension(const char* op, int64_t dim, int64_t rank) {
  const int64_t limit = rank == 0 ? 1 : rank;
  if (dim < -limit || dim >= limit) throw_dimension(op, dim, rank);
  return dim < 0 ? dim + limit : dim;
}
// One bit for each dimension of `dims`. ValueError when one is named twice.
uint32_t dimension_mask(const char* op, IntList dims, int64_t rank);

// Zeros of a shape that cost one element: what scattering starts from.
inline Tensor expanded_zeros(IntList shape, DType dtype) {
  return zeros(IntList(), dtype).expand(shape);
}

}  // namespace math
