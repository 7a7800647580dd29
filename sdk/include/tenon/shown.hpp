// Which values have a text that streams and fmt print: see print.hpp and format.hpp, which share it.
#pragma once

#include <string>
#include <type_traits>

#include "tenon/call.hpp"
#include "tenon/json.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

// "[2, 3]" of a shape, "[0.5, 1]" of numbers.
template <class T>
std::string list_text(Span<T> list) {
  std::string text = "[";
  for (int64_t i = 0; i < list.size(); ++i) text += (i == 0 ? "" : ", ") + Scalar(list[i]).text();
  return text + "]";
}

inline std::string shown_text(const Tensor& tensor) {
  return tensor.defined() ? tensor.text() : "None";
}
inline std::string shown_text(DType dtype) { return dtype_text(dtype); }
inline std::string shown_text(const Scalar& number) { return number.text(); }
inline std::string shown_text(const Value& value) { return text_of(value); }
inline std::string shown_text(const Argument& value) { return text_of(value); }
inline std::string shown_text(IntList list) { return list_text(list); }
inline std::string shown_text(FloatList list) { return list_text(list); }
inline std::string shown_text(TensorList list) { return text_of(Argument(list)); }
inline std::string shown_text(const Op& op) { return op.schema(); }
inline std::string shown_text(const Json& document) { return document.dump(); }

// Tensor and what derives from it, and the types above; not what merely converts to one of them.
template <class T, class... Types>
inline constexpr bool is_one_of = (std::is_same_v<T, Types> || ...);
template <class T>
inline constexpr bool is_shown =
    std::is_base_of_v<Tensor, T> ||
    is_one_of<T, DType, Scalar, Value, Argument, IntList, FloatList, TensorList, Op, Json>;

}  // namespace detail
TENON_NAMESPACE_END
