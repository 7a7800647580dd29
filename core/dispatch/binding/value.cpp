// Making and releasing result values.
#include "core/dispatch/binding/value.hpp"

#include <cstring>
#include <string>

#include "core/base/allocator.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/binding/arguments.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

int64_t at_least_one(int64_t bytes) { return bytes == 0 ? 1 : bytes; }

template <class Element>
Element* copy_elements(const Element* elements, int64_t count) {
  const auto bytes = count * static_cast<int64_t>(sizeof(Element));
  void* memory = allocate(at_least_one(bytes));
  if (bytes > 0) std::memcpy(memory, elements, static_cast<size_t>(bytes));
  return static_cast<Element*>(memory);
}

template <class Element>
void free_elements(const Element* elements, int64_t count) noexcept {
  release(const_cast<Element*>(elements),
          at_least_one(count * static_cast<int64_t>(sizeof(Element))));
}
void free_string(const tenon_string& string) noexcept { free_elements(string.data, string.length); }

void release_object(tenon_tensor* tensor) noexcept {
  if (tensor != nullptr) tensor->release();
}
void release_object(tenon_module* module) noexcept {
  if (module != nullptr) higher_areas.release_module(module);
}

}  // namespace

void release_value(tenon_value& value) noexcept {
  const int64_t length = value.length;
  switch (value.tag) {
    case TENON_VALUE_STRING:
      free_elements(value.as.string, length);
      break;
    case TENON_VALUE_TENSOR:
      release_object(value.as.tensor);
      break;
    case TENON_VALUE_JSON:
      if (value.as.json != nullptr) value.as.json->release();
      break;
    case TENON_VALUE_MODULE:
      release_object(value.as.module);
      break;
    case TENON_VALUE_INT_LIST:
      free_elements(value.as.integers, length);
      break;
    case TENON_VALUE_FLOAT_LIST:
      free_elements(value.as.numbers, length);
      break;
    case TENON_VALUE_BOOL_LIST:
      free_elements(value.as.booleans, length);
      break;
    case TENON_VALUE_STRING_LIST:
      std::for_each_n(value.as.strings, length, free_string);
      free_elements(value.as.strings, length);
      break;
    case TENON_VALUE_TENSOR_LIST:
      for (int64_t i = 0; i < length; ++i) release_object(value.as.tensors[i]);
      free_elements(value.as.tensors, length);
      break;
    case TENON_VALUE_MODULE_LIST:
      for (int64_t i = 0; i < length; ++i) release_object(value.as.modules[i]);
      free_elements(value.as.modules, length);
      break;
    case TENON_VALUE_MODULE_DICT:
      for (int64_t i = 0; i < length; ++i) {
        free_string(value.as.named_modules[i].name);
        release_object(value.as.named_modules[i].module);
      }
      free_elements(value.as.named_modules, length);
      break;
    default:
      break;
  }
  value = tenon_value{};
}

tenon_value copy_value(const tenon_value& value) {
  tenon_value copy = value;
  switch (value.tag) {
    case TENON_VALUE_NONE:
    case TENON_VALUE_BOOL:
    case TENON_VALUE_INT:
    case TENON_VALUE_FLOAT:
    case TENON_VALUE_DTYPE:
      break;
    case TENON_VALUE_STRING:
      copy.as.string = copy_elements(value.as.string, value.length);
      break;
    case TENON_VALUE_BOOL_LIST:
      copy.as.booleans = copy_elements(value.as.booleans, value.length);
      break;
    case TENON_VALUE_INT_LIST:
      copy.as.integers = copy_elements(value.as.integers, value.length);
      break;
    case TENON_VALUE_FLOAT_LIST:
      copy.as.numbers = copy_elements(value.as.numbers, value.length);
      break;
    case TENON_VALUE_TENSOR:
      copy.as.tensor->retain();
      break;
    case TENON_VALUE_JSON:
      copy.as.json->retain();
      break;
    case TENON_VALUE_STRING_LIST: {
      tenon_string* const strings = copy_elements(value.as.strings, value.length);
      for (uint32_t i = 0; i < value.length; ++i)
        strings[i].data = copy_elements(strings[i].data, strings[i].length);
      copy.as.strings = strings;
      break;
    }
    case TENON_VALUE_TENSOR_LIST:
      copy.as.tensors = copy_elements(value.as.tensors, value.length);
      for (uint32_t i = 0; i < value.length; ++i) {
        if (copy.as.tensors[i] != nullptr) copy.as.tensors[i]->retain();
      }
      break;
    default:
      throw Error(TENON_ERROR_TYPE,
                  "a module cannot be copied as a value; register it as a child of a module");
  }
  return copy;
}

tenon_value make_string(std::string_view text) {
  return copy_value({.tag = TENON_VALUE_STRING,
                     .length = static_cast<uint32_t>(text.size()),
                     .as = {.string = text.data()}});
}

tenon_value make_string_list(const std::vector<std::string>& texts) {
  std::vector<tenon_string> strings;
  for (const std::string& text : texts)
    strings.push_back({text.data(), static_cast<int64_t>(text.size())});
  return copy_value({.tag = TENON_VALUE_STRING_LIST,
                     .length = static_cast<uint32_t>(strings.size()),
                     .as = {.strings = strings.data()}});
}

tenon_value make_tensor_list(const std::vector<TensorRef>& tensors) {
  std::vector<Tensor*> handles;
  for (const TensorRef& tensor : tensors) handles.push_back(tensor.get());
  return copy_value({.tag = TENON_VALUE_TENSOR_LIST,
                     .length = static_cast<uint32_t>(handles.size()),
                     .as = {.tensors = handles.data()}});
}

namespace {

template <class Element>
std::string list_text(uint32_t length, Element&& element) {
  std::string text = "[";
  for (uint32_t i = 0; i < length; ++i) {
    if (i > 0) text += ", ";
    text += element(i);
  }
  return format_text("{}]", text);
}

}  // namespace

std::string value_text(const tenon_value& value, std::string (*tensor_text)(const Tensor*)) {
  switch (value.tag) {
    case TENON_VALUE_NONE:
      return "None";
    case TENON_VALUE_BOOL:
      return value.as.integer != 0 ? "True" : "False";
    case TENON_VALUE_INT:
      return std::to_string(value.as.integer);
    case TENON_VALUE_FLOAT:
      return float_text(value.as.number);
    case TENON_VALUE_DTYPE:
      return dtype_text(static_cast<tenon_dtype>(value.as.integer));
    case TENON_VALUE_STRING:
      return quote({value.as.string, value.length});
    case TENON_VALUE_TENSOR:
      return tensor_text(value.as.tensor);
    case TENON_VALUE_INT_LIST:
      return list_text(value.length,
                       [&](uint32_t i) { return std::to_string(value.as.integers[i]); });
    case TENON_VALUE_FLOAT_LIST:
      return list_text(value.length, [&](uint32_t i) { return float_text(value.as.numbers[i]); });
    case TENON_VALUE_BOOL_LIST:
      return list_text(value.length, [&](uint32_t i) {
        return std::string(value.as.booleans[i] != 0 ? "True" : "False");
      });
    case TENON_VALUE_STRING_LIST:
      return list_text(value.length, [&](uint32_t i) {
        const tenon_string& text = value.as.strings[i];
        return quote({text.data, static_cast<size_t>(text.length)});
      });
    case TENON_VALUE_TENSOR_LIST:
      return list_text(value.length, [&](uint32_t i) { return tensor_text(value.as.tensors[i]); });
    case TENON_VALUE_JSON:
      return value.as.json == nullptr ? "None" : dump(*value.as.json);
    case TENON_VALUE_NOT_IMPLEMENTED:
      return "NotImplemented";
    default:
      return value_type_text(value);
  }
}

std::string brief_text(const tenon_value& value) {
  return value_text(value, [](const Tensor* tensor) {
    if (tensor == nullptr) return std::string("None");
    return format_text("{} {}{}", TypeTable::process().at(tensor->view.type).name,
                       dtype_text(tensor->view.dtype), shape_text(tensor->shape()));
  });
}

}  // namespace tenon::core
