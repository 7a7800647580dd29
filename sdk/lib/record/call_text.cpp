#include "call_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <tenon/json.hpp>
#include <tenon/typed_tensor.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace record {

namespace {

constexpr uint32_t kMostItems = 8;
constexpr size_t kMostText = 40;

template <class Item>
std::string list_text(uint32_t length, const Item& item) {
  std::string text = "[";
  for (uint32_t i = 0; i < std::min(length, kMostItems); ++i)
    text += lib::format_text("{}{}", i > 0 ? ", " : "", item(i));
  return text + (length > kMostItems ? lib::format_text(", ... {} in all]", length) : "]");
}

std::string string_text(const char* data, size_t length) {
  const std::string text(data, std::min(length, kMostText));
  return lib::format_text("'{}{}'", text, length > kMostText ? "..." : "");
}

}  // namespace

std::string tensor_text(const tenon_tensor* tensor) {
  if (tensor == nullptr) return "None";
  const tenon_tensor_view& view = *tenon_tensor_get_view(tensor);
  std::string text =
      (view.flags & TENON_TENSOR_TYPED) != 0 ? std::string(service::types().name(view.type)) : "";
  if (!text.empty()) text += ":";
  text += lib::format_text("{}[", dtype_text(static_cast<DType>(view.dtype)));
  for (int i = 0; i < view.rank; ++i)
    text += lib::format_text("{}{}", i > 0 ? ", " : "", view.shape[i]);
  return text + "]";
}

std::string value_text(const tenon_value& value) {
  switch (value.tag) {
    case TENON_VALUE_NONE:
      return "None";
    case TENON_VALUE_BOOL:
      return value.as.integer != 0 ? "True" : "False";
    case TENON_VALUE_INT:
      return std::to_string(value.as.integer);
    case TENON_VALUE_FLOAT:
      return number_text(value.as.number);
    case TENON_VALUE_DTYPE:
      return dtype_text(static_cast<DType>(value.as.integer));
    case TENON_VALUE_STRING:
      return string_text(value.as.string, value.length);
    case TENON_VALUE_TENSOR:
      return tensor_text(value.as.tensor);
    case TENON_VALUE_INT_LIST:
      return list_text(value.length,
                       [&](uint32_t i) { return std::to_string(value.as.integers[i]); });
    case TENON_VALUE_FLOAT_LIST:
      return list_text(value.length, [&](uint32_t i) { return number_text(value.as.numbers[i]); });
    case TENON_VALUE_BOOL_LIST:
      return list_text(value.length, [&](uint32_t i) {
        return std::string(value.as.booleans[i] != 0 ? "True" : "False");
      });
    case TENON_VALUE_STRING_LIST:
      return list_text(value.length, [&](uint32_t i) {
        const tenon_string& text = value.as.strings[i];
        return string_text(text.data, static_cast<size_t>(text.length));
      });
    case TENON_VALUE_TENSOR_LIST:
      return list_text(value.length, [&](uint32_t i) { return tensor_text(value.as.tensors[i]); });
    default:
      return detail::kind_text(value);
  }
}

std::string arguments_text(const tenon_call& call) {
  std::string text;
  const auto add = [&](const std::string& argument) {
    text += lib::format_text("{}{}", text.empty() ? "" : ", ", argument);
  };
  if (call.positional == nullptr && call.keyword_count == 0) {
    for (int64_t i = 0; i < call.argument_count; ++i) add(value_text(call.arguments[i]));
    return text;
  }
  for (int64_t i = 0; i < call.positional_count; ++i) add(value_text(call.positional[i]));
  for (int64_t i = 0; i < call.keyword_count; ++i) {
    const tenon_string& name = call.keywords[i];
    add(lib::format_text("{}={}", std::string_view(name.data, static_cast<size_t>(name.length)),
                         value_text(call.keyword_values[i])));
  }
  return text;
}

std::string number_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

std::string json_text(std::string_view text) { return JsonArray().add(text).json()[0].dump(); }

}  // namespace record

TENON_NAMESPACE_END
