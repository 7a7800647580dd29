// Ownership of result values: strings and lists made by the host's allocator.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/tensor.hpp"
#include "tenon/abi/value.h"

namespace tenon::core {

// Releases what a given value owns and sets it to none.
void release_value(tenon_value& value) noexcept;

// An owned copy of a borrowed value. Throws TypeError for modules and JSON documents.
tenon_value copy_value(const tenon_value& value);
tenon_value make_string(std::string_view text);
tenon_value make_string_list(const std::vector<std::string>& texts);
// As it is printed, but for modules: None, True, 2, 0.4, 'text', float32, [1, 2]; tensors by
// `tensor_text`.
std::string value_text(const tenon_value& value, std::string (*tensor_text)(const Tensor*));
// A value in a word or two, without data: Tensor f32[2, 3]. Calls no plugin.
std::string brief_text(const tenon_value& value);
tenon_value make_tensor_list(const std::vector<TensorRef>& tensors);

inline tenon_value tensor_value(Tensor* tensor) {
  tenon_value value{};
  if (tensor != nullptr) {
    value.tag = TENON_VALUE_TENSOR;
    value.as.tensor = tensor;
  }
  return value;
}
inline tenon_value int_value(int64_t number) {
  return {.tag = TENON_VALUE_INT, .length = 0, .as = {.integer = number}};
}
inline tenon_value float_value(double number) {
  return {.tag = TENON_VALUE_FLOAT, .length = 0, .as = {.number = number}};
}
inline tenon_value dtype_value(tenon_dtype dtype) {
  return {.tag = TENON_VALUE_DTYPE, .length = 0, .as = {.integer = dtype}};
}
// Borrows the document.
inline tenon_value json_value(const tenon_json& document) {
  return {.tag = TENON_VALUE_JSON, .length = 0, .as = {.json = const_cast<tenon_json*>(&document)}};
}
// Borrows the numbers.
inline tenon_value int_list_value(std::span<const int64_t> numbers) {
  tenon_value value{};
  value.tag = TENON_VALUE_INT_LIST;
  value.length = static_cast<uint32_t>(numbers.size());
  value.as.integers = numbers.data();
  return value;
}

}  // namespace tenon::core
