// Values on C++ streams, as they are printed everywhere:
//
//   std::cout << x << '\n';             tensor([[1., 2.]])
//   std::cout << x.shape() << '\n';     [1, 2]
//   std::cout << x.dtype() << '\n';     f32
//   std::cout << Op("relu") << '\n';    relu(Tensor input) -> Tensor
//
// Tensors and what derives from them, dtypes, numbers, results and arguments of calls, shapes and other
// lists, ops, and JSON. format.hpp does the same for fmt. Reads the elements: any thread that may read
// the tensor. <tenon/tenon.hpp> includes it; plugins include it where they print.
#pragma once

#include <ostream>

#include "tenon/shown.hpp"

TENON_NAMESPACE_BEGIN

template <class T, std::enable_if_t<detail::is_shown<T>, int> = 0>
std::ostream& operator<<(std::ostream& stream, const T& value) {  // as its text
  return stream << detail::shown_text(value);
}

TENON_NAMESPACE_END
