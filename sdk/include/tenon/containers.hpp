// Tensors of what C++ containers hold, and their elements as a span:
//
//   std::vector<float> v = {1, 2, 3, 4};
//   Tensor x = tensor(v);                                   tensor([1., 2., 3., 4.])
//   Tensor y = tensor(v, {2, 2});                           tensor([[1., 2.], [3., 4.]])
//   Tensor z = tensor(std::vector<std::vector<double>>{{1, 2}, {3, 4}}, f32);
//   for (float& element : as_span<float>(x)) element *= 2;
#pragma once

#include <initializer_list>
#include <type_traits>
#include <vector>
#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_span
#include <span>
#endif

#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN

namespace detail {

template <class T>
struct ListElement {
  using Type = T;
  static constexpr int64_t depth = 0;
};
template <class T>
struct ListElement<std::vector<T>> {
  using Type = typename ListElement<T>::Type;
  static constexpr int64_t depth = ListElement<T>::depth + 1;
};

// Sizes at each depth, from the first list of each; ValueError for lists that differ from it.
template <class T>
void measure_list(const T&, int64_t*, bool) {}
template <class T>
void measure_list(const std::vector<T>& list, int64_t* sizes, bool first) {
  const auto count = static_cast<int64_t>(list.size());
  if (first) {
    *sizes = count;
  } else if (*sizes != count) {
    throw_message(TENON_ERROR_VALUE, {"nested lists must be rectangular: a list of ", count,
                                      " where ", *sizes, " were seen before"});
  }
  if constexpr (ListElement<T>::depth > 0) {
    for (const auto& item : list) measure_list(item, sizes + 1, first && &item == list.data());
  }
}
template <class To, class T>
void write_list(const T& number, To*& to) {
  if constexpr (std::is_same_v<To, T>) {
    *to++ = number;
  } else {
    *to++ = static_cast<To>(number);
  }
}
template <class To, class T>
void write_list(const std::vector<T>& list, To*& to) {
  for (const auto& item : list) write_list<To>(static_cast<const T&>(item), to);
}

inline Tensor in_dtype(const Tensor& made, DType dtype) {
  return dtype == DType::none ? made : contiguous_as(made, dtype);
}
[[noreturn]] inline void refuse_count(int64_t count, IntList shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  throw_message(TENON_ERROR_VALUE,
                {std::to_string(count), " elements do not fill the shape [", text, "]"});
}

}  // namespace detail

// A copy of the elements in the dtype of their type, as int is i32, or in another one. Vectors of vectors
// give a dimension each. ValueError where these differ in length.
template <class T>
Tensor tensor(const std::vector<T>& values, DType dtype = DType::none) {
  using List = detail::ListElement<std::vector<T>>;
  int64_t sizes[List::depth] = {};
  detail::measure_list(values, sizes, true);
  Tensor made = empty_tensor(IntList(sizes, List::depth), dtype_of<typename List::Type>());
  auto* to = made.data<typename List::Type>();
  detail::write_list(values, to);
  return detail::in_dtype(made, dtype);
}
// In this shape, row by row. ValueError where it has another number of elements.
template <class T>
Tensor tensor(const std::vector<T>& values, std::initializer_list<int64_t> shape,
              DType dtype = DType::none) {
  static_assert(detail::ListElement<T>::depth == 0, "vectors of vectors have a shape already");
  const IntList sizes(shape.begin(), static_cast<int64_t>(shape.size()));
  Tensor made = empty_tensor(sizes, dtype_of<T>());
  const auto count = static_cast<int64_t>(values.size());
  if (made.numel() != count) detail::refuse_count(count, sizes);
  T* to = made.data<T>();
  detail::write_list(values, to);
  return detail::in_dtype(made, dtype);
}
// A copy of a run of elements.
template <class T>
Tensor tensor(Span<T> values, DType dtype = DType::none) {
  const int64_t size = values.size();
  return detail::in_dtype(from_buffer(values.data(), IntList(&size, 1)), dtype);
}
#ifdef __cpp_lib_span
template <class T, size_t Extent>
Tensor tensor(std::span<T, Extent> values, DType dtype = DType::none) {
  return tensor(Span<T>(values.data(), static_cast<int64_t>(values.size())), dtype);
}
#endif

// The elements of a contiguous tensor in row-major order, borrowed: valid as long as the tensor's memory
// is. TypeError where T, which may be const, is not the dtype's type, ValueError for a tensor that is not
// contiguous. As with Tensor::data(), gradients do not notice what is written.
template <class T>
Span<T> as_span(const Tensor& tensor) {
  if (!tensor.is_contiguous())
    throw ValueError("as_span(): the tensor is not contiguous; take that of x.contiguous()");
  return {tensor.data<T>(), tensor.numel()};
}

TENON_NAMESPACE_END
