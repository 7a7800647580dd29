// Loops over rows: a contiguous tensor seen along one dimension, rows shared among threads.
#pragma once

#include <cstdint>

#include "tenon/parallel.hpp"
#include "tenon/value.hpp"

TENON_NAMESPACE_BEGIN
namespace kernel {

// Elements that are worth a thread.
inline constexpr int64_t thread_elements = 1 << 15;

// How many rows of `row_elements` are worth a thread.
constexpr int64_t row_grain(int64_t row_elements) {
  return row_elements <= 1                 ? thread_elements
         : row_elements >= thread_elements ? 1
                                           : thread_elements / row_elements;
}

// Calls body(begin, end) for runs of rows [begin, end) that cover [0, rows), on several threads
// where that is worth while. What a body throws is thrown here.
template <class Body>
void for_rows(int64_t rows, int64_t row_elements, const Body& body) {
  parallel_for(0, rows, row_grain(row_elements), body);
}

// A contiguous tensor as outer x size x inner elements, where `size` is that of the dimension; a
// 0-dim tensor has one element along dimension 0.
struct Lines {
  int64_t outer = 1, size = 1, inner = 1;  // dimensions before, the one, and behind it
  Lines(IntList shape, int64_t dim) {      // for a contiguous tensor
    for (int64_t i = 0; i < shape.size(); ++i)
      (i < dim ? outer : i == dim ? size : inner) *= shape[i];
  }
};

}  // namespace kernel
TENON_NAMESPACE_END
