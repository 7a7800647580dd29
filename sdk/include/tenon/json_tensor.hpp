// Tensors as configs write them: numbers, lists of numbers, and lists of lists.
//
//   if (std::string fault = json_tensor_fault(section["weight"]); fault.empty())
//     weight = json_tensor(section["weight"]);   // [1.0, 5.0] is f32, [[1, 2], [3, 4]] is i64
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/json.hpp"
#include "tenon/op.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

// The elements of nested lists, whose lengths must agree.
class JsonElements {
 public:
  explicit JsonElements(const Json& value) { read(value, 0); }

  std::string fault;
  bool whole = true;
  std::vector<double> values;
  std::vector<int64_t> shape;

 private:
  void read(const Json& value, size_t depth) {
    if (!fault.empty()) return;
    if (value.is_number()) {
      if (!leaf_depth_) leaf_depth_ = depth;
      if (*leaf_depth_ != depth) fail(value, "a number, where others are lists");
      whole = whole && value.dump().find_first_of(".eE") == std::string::npos;
      values.push_back(value.number());
      return;
    }
    if (!value.is_array()) return fail(value, value.dump());
    if (depth == kMostDimensions)
      return fail(value, "lists nested more deeply than a tensor can be");
    if (leaf_depth_ && *leaf_depth_ <= depth)
      return fail(value, "a list, where others are numbers");
    const int64_t size = value.size();
    if (shape.size() == depth) shape.push_back(size);
    if (shape[depth] != size) {
      return fail(value, "a list of " + std::to_string(size) +
                             (size == 1 ? " element" : " elements") + ", where the first has " +
                             std::to_string(shape[depth]));
    }
    for (int64_t i = 0; i < size; ++i) read(value[i], depth + 1);
  }
  void fail(const Json& value, const std::string& found) {
    if (!fault.empty()) return;
    const std::string place = value.place();
    fault = "found " + found + (place.empty() ? "" : " at " + place);
  }

  static constexpr size_t kMostDimensions = 16;
  std::optional<size_t> leaf_depth_;
};

}  // namespace detail

// Why a value is not such a tensor; empty: it is one. Any thread.
inline std::string json_tensor_fault(const Json& value) {
  return detail::JsonElements(value).fault;
}

// The tensor, contiguous: i64 where all numbers are written as whole ones, else f32. ValueError where
// json_tensor_fault has a text. Any thread.
inline Tensor json_tensor(const Json& value) {
  const detail::JsonElements elements(value);
  if (!elements.fault.empty()) {
    throw ValueError(elements.fault + "; expected numbers, or lists of them with equal lengths");
  }
  const Tensor flat = contiguous_as(from_range(elements.values.begin(), elements.values.end()),
                                    elements.whole ? i64 : f32);
  static const Op reshape("reshape");
  return reshape.call<Tensor>(flat, elements.shape);
}

TENON_NAMESPACE_END
