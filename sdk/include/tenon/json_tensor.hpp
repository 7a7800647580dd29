// Tensors as configs write them: numbers, lists of numbers, and lists of lists.
//
//   if (std::string fault = json_tensor_fault(section["weight"]); fault.empty())
//     weight = json_tensor(section["weight"]);   // [1.0, 5.0] is f32, [[1, 2], [3, 4]] is i64
#pragma once

#include <string>

#include "tenon/json.hpp"
#include "tenon/nested_numbers.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

// The elements of nested lists, and the place of the first fault.
struct JsonElements {
  explicit JsonElements(const Json& value) { read(value, 0); }

  NestedNumbers numbers;
  std::string fault;

 private:
  void read(const Json& value, size_t depth) {
    if (value.is_integer())
      numbers.add(depth, value.integer());
    else if (value.is_number())
      numbers.add(depth, value.number());
    else if (value.is_array())
      numbers.add_list(depth, value.size());
    else
      return note(value, "found " + value.dump());
    if (!numbers.fault().empty()) return note(value, numbers.fault());
    if (!value.is_array()) return;
    for (int64_t i = 0; i < value.size() && fault.empty(); ++i) read(value[i], depth + 1);
  }
  void note(const Json& value, const std::string& found) {
    const std::string place = value.place();
    fault = found + (place.empty() ? "" : " at " + place);
  }
};

}  // namespace detail

// Why a value is not such a tensor; empty: it is one. Any thread.
inline std::string json_tensor_fault(const Json& value) {
  return detail::JsonElements(value).fault;
}

// The tensor, contiguous: i64 where all numbers are written as whole ones, exactly; else f32. ValueError where
// json_tensor_fault has a text. Any thread.
inline Tensor json_tensor(const Json& value) {
  const detail::JsonElements elements(value);
  if (!elements.fault.empty()) {
    throw ValueError(elements.fault + "; expected numbers, or lists of them with equal lengths");
  }
  const NestedNumbers& numbers = elements.numbers;
  return numbers.tensor(numbers.empty() || numbers.kind() == NestedNumbers::Kind::whole ? i64
                                                                                        : f32);
}

TENON_NAMESPACE_END
