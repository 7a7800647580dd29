// Dimensions and shapes as ops take them: held without the heap, wrapped, checked, printed.
#include "dimensions.hpp"

namespace math {

bool same(IntList a, IntList b) {
  if (a.size() != b.size()) return false;
  for (int64_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

int64_t product(IntList sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

Sizes row_major_strides(IntList shape) {
  Sizes strides;
  strides.rank = shape.size();
  int64_t stride = 1;
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    strides[i] = stride;
    if (shape[i] > 1) stride *= shape[i];
  }
  return strides;
}

std::string text(IntList list) {
  std::string result = "[";
  for (int64_t i = 0; i < list.size(); ++i) {
    if (i != 0) result += ", ";
    result += std::to_string(list[i]);
  }
  return result + "]";
}

void throw_dimension(const char* op, int64_t dim, int64_t rank) {
  const int64_t limit = rank == 0 ? 1 : rank;
  throw IndexError(std::string(op) + "(): dimension " + std::to_string(dim) +
                   " is out of range for a tensor of " + std::to_string(rank) +
                   " dimensions (expected " + std::to_string(-limit) + " to " +
                   std::to_string(limit - 1) + ")");
}

void throw_rank(const char* op, int64_t rank) {
  throw ValueError(std::string(op) + "(): the result would have " + std::to_string(rank) +
                   " dimensions, at most " + std::to_string(TENON_MAX_RANK) + " are possible");
}

uint32_t dimension_mask(const char* op, IntList dims, int64_t rank) {
  uint32_t mask = 0;
  for (const int64_t dim : dims) {
    const uint32_t bit = 1u << wrap_dimension(op, dim, rank);
    if ((mask & bit) != 0) {
      throw ValueError(std::string(op) + "(): dimension " + std::to_string(dim) +
                       " appears more than once in " + text(dims));
    }
    mask |= bit;
  }
  return mask;
}

}  // namespace math
