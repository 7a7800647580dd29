// Arguments of calls as text, and their tensors.
#pragma once

#include <string>
#include <string_view>

#include <tenon/abi/type.h>
#include <tenon/tensor.hpp>

TENON_NAMESPACE_BEGIN

namespace record {

// "f32[2, 3]"; of another type "sim:f32[2, 3]".
std::string tensor_text(const tenon_tensor* tensor);
// "f32[2, 3]", "1.5", "'sum'", "[1, 2]"; cut where it is long.
std::string value_text(const tenon_value& value);
// "f32[2, 3], f32[3], alpha=2", as the caller wrote them.
std::string arguments_text(const tenon_call& call);
// A number that reads back as the same one; nan, inf and -inf are words.
std::string number_text(double number);
// The text as a value of JSON, quotes included.
std::string json_text(std::string_view text);

template <class Visit>
void each_tensor(const tenon_value& value, Visit&& visit) {
  if (value.tag == TENON_VALUE_TENSOR && value.as.tensor != nullptr) visit(value.as.tensor);
  for (uint32_t k = 0; value.tag == TENON_VALUE_TENSOR_LIST && k < value.length; ++k) {
    if (value.as.tensors[k] != nullptr) visit(value.as.tensors[k]);
  }
}

}  // namespace record

TENON_NAMESPACE_END
