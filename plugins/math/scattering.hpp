// Common code of ops that add or write entries at the places of an index tensor.
#pragma once

#include <type_traits>

#include <tenon/kernel/complex.hpp>

#include "index_places.hpp"

namespace math {

inline Tensor copy_of(const Tensor& input) {
  const Tensor result = empty_tensor(input.shape(), input.dtype());
  copy_elements(result, input);
  return result;
}

// Sums as the dtype defines them: integers wrap, bools are or-ed.
template <class T>
void add_to(T& sum, T value) {
  if constexpr (std::is_same_v<T, bool>)
    sum = sum || value;
  else if constexpr (std::is_integral_v<T>)
    sum = static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(value));
  else
    sum += value;
}

// body(zero) with the element type of a dtype that has sums: complex ones, too.
template <class Body>
void visit_sums(DType dtype, const Body& body) {
  if (is_complex(dtype))
    kernel::visit_complex(dtype, body);
  else
    visit(dtype, body);
}

// The gradient of the entries of src that an index reads as that of all: the others have no part in
// the result.
inline Tensor as_source(Tensor part, IntList whole) {
  for (int64_t i = 0; i < whole.size(); ++i) {
    if (part.shape()[i] == whole[i]) continue;
    Shape shape(part.shape());
    shape[i] = whole[i];
    part = slice_backward(part, IntList(shape), i, 0, part.shape()[i], 1);
  }
  return part;
}

}  // namespace math
