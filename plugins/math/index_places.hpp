// Common code of ops that take an index tensor: its checks, and the places that it names.
#pragma once

#include <string>

#include <tenon/kernel/view.hpp>

#include "dimensions.hpp"

namespace math {

inline void check_index_dtype(const char* op, const Tensor& index) {
  if (index.dtype() == i64 || index.dtype() == i32) return;
  throw TypeError(std::string(op) + "(): the index must be i64 or i32, not " +
                  dtype_text(index.dtype()));
}
[[noreturn]] inline void throw_index(const char* op, int64_t index, int64_t dim, int64_t size) {
  throw IndexError(std::string(op) + "(): index " + std::to_string(index) +
                   " is out of range for dimension " + std::to_string(dim) + " with size " +
                   std::to_string(size));
}

// Indices as i64, contiguous, each in [0, size).
inline Tensor checked_indices(const char* op, const Tensor& index, int64_t dim, int64_t size) {
  check_index_dtype(op, index);
  const Tensor indices = contiguous_as(index, i64);
  const int64_t* from = indices.data<int64_t>();
  bool outside = false;
  for (int64_t i = 0; i < indices.numel(); ++i) {
    outside |= static_cast<uint64_t>(from[i]) >= static_cast<uint64_t>(size);
  }
  for (int64_t i = 0; outside && i < indices.numel(); ++i) {
    if (from[i] < 0 || from[i] >= size) throw_index(op, from[i], dim, size);
  }
  return indices;
}
inline void check_vector(const char* op, const Tensor& index) {
  if (index.dim() > 1) {
    throw IndexError(std::string(op) + "(): the index must be a vector, but its shape is " +
                     shape_text(index.shape()));
  }
}

// Walks every place of an index tensor: calls body(place in `lines`' inner x outer, index) for each
// in order. The other dimensions of the index may be smaller than those of the tensor that it
// points into.
struct Places {
  Shape shape, strides;  // shape and strides of the indexed tensor, contiguous
  int64_t dim;

  template <class Body>
  void each(IntList index_shape, const int64_t* indices, const Body& body) const {
    const int64_t rank = index_shape.size();
    const int64_t inner = rank == 0 ? 1 : index_shape[rank - 1];
    const int64_t inner_step = rank == 0 || dim == rank - 1 ? 0 : 1;
    const int64_t along = rank == 0 ? 1 : strides[dim];
    int64_t position[TENON_MAX_RANK] = {};
    int64_t base = 0;
    for (int64_t line = 0, count = kernel::count_elements(index_shape) / inner; line < count;
         ++line) {
      for (int64_t i = 0; i < inner; ++i) {
        body(line * inner + i, base + i * inner_step + indices[line * inner + i] * along);
      }
      for (int64_t d = rank - 2; d >= 0; --d) {
        const int64_t step = d == dim ? 0 : strides[d];
        base += step;
        if (++position[d] < index_shape[d]) break;
        base -= step * index_shape[d];
        position[d] = 0;
      }
    }
  }
};
inline void check_index_shape(const char* op, const Tensor& index, const Tensor& other,
                              const char* name, int64_t skip) {
  bool fits = index.dim() == other.dim();
  for (int64_t i = 0; fits && i < index.dim(); ++i)
    fits = i == skip || index.shape()[i] <= other.shape()[i];
  if (fits) return;
  throw ValueError(std::string(op) + "(): the index has shape " + shape_text(index.shape()) +
                   ", which does not fit within " + name + " of shape " +
                   shape_text(other.shape()) +
                   (skip < 0 ? "" : " outside of dimension " + std::to_string(skip)));
}

}  // namespace math
