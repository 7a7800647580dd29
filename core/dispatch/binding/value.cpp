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
#include "core/dispatch/call/higher_areas.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

int64_t at_least_one(int64_t bytes) { return bytes == 0 ? 1 : bytes; }

void* copy_bytes(const void* data, int64_t bytes) {
  void* memory = allocate(at_least_one(bytes));
  if (bytes > 0) std::memcpy(memory, data, static_cast<size_t>(bytes));
  return memory;
}

void free_bytes(const void* memory, int64_t bytes) noexcept {
  release(const_cast<void*>(memory), at_least_one(bytes));
}

}  // namespace

void release_value(tenon_value& value) noexcept {
  const int64_t length = value.length;
  switch (value.tag) {
    case TENON_VALUE_STRING:
      free_bytes(value.as.string, length);
      break;
    case TENON_VALUE_TENSOR:
      if (value.as.tensor != nullptr) value.as.tensor->release();
      break;
    case TENON_VALUE_INT_LIST:
    case TENON_VALUE_FLOAT_LIST:
      free_bytes(value.as.pointer, length * 8);
      break;
    case TENON_VALUE_BOOL_LIST:
      free_bytes(value.as.pointer, length);
      break;
    case TENON_VALUE_STRING_LIST:
      for (int64_t i = 0; i < length; ++i)
        free_bytes(value.as.strings[i].data, value.as.strings[i].length);
      free_bytes(value.as.pointer, length * static_cast<int64_t>(sizeof(tenon_string)));
      break;
    case TENON_VALUE_TENSOR_LIST:
      for (int64_t i = 0; i < length; ++i) {
        if (value.as.tensors[i] != nullptr) value.as.tensors[i]->release();
      }
      free_bytes(value.as.pointer, length * 8);
      break;
    case TENON_VALUE_JSON:
      if (value.as.json != nullptr) value.as.json->release();
      break;
    case TENON_VALUE_MODULE:
      if (value.as.module != nullptr) higher_areas.release_module(value.as.module);
      break;
    case TENON_VALUE_MODULE_LIST:
      for (int64_t i = 0; i < length; ++i) {
        if (value.as.modules[i] != nullptr) higher_areas.release_module(value.as.modules[i]);
      }
      free_bytes(value.as.pointer, length * 8);
      break;
    case TENON_VALUE_MODULE_DICT:
      for (int64_t i = 0; i < length; ++i) {
        const tenon_named_module& entry = value.as.named_modules[i];
        free_bytes(entry.name.data, entry.name.length);
        if (entry.module != nullptr) higher_areas.release_module(entry.module);
      }
      free_bytes(value.as.pointer, length * static_cast<int64_t>(sizeof(tenon_named_module)));
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
    case TENON_VALUE_BOOL_LIST:
      copy.as.pointer = copy_bytes(value.as.pointer, value.length);
      break;
    case TENON_VALUE_INT_LIST:
    case TENON_VALUE_FLOAT_LIST:
      copy.as.pointer = copy_bytes(value.as.pointer, int64_t{value.length} * 8);
      break;
    case TENON_VALUE_TENSOR:
      copy.as.tensor->retain();
      break;
    case TENON_VALUE_JSON:
      copy.as.json->retain();
      break;
    case TENON_VALUE_STRING_LIST: {
      std::vector<std::string> texts;
      for (uint32_t i = 0; i < value.length; ++i) {
        texts.emplace_back(value.as.strings[i].data,
                           static_cast<size_t>(value.as.strings[i].length));
      }
      return make_string_list(texts);
    }
    case TENON_VALUE_TENSOR_LIST: {
      std::vector<TensorRef> tensors;
      for (uint32_t i = 0; i < value.length; ++i) tensors.emplace_back(value.as.tensors[i]);
      return make_tensor_list(std::move(tensors));
    }
    default:
      throw Error(TENON_ERROR_TYPE,
                  "a module cannot be copied as a value; register it as a child of a module");
  }
  return copy;
}

tenon_value make_string(std::string_view text) {
  tenon_value value{};
  value.as.string =
      static_cast<const char*>(copy_bytes(text.data(), static_cast<int64_t>(text.size())));
  value.tag = TENON_VALUE_STRING;
  value.length = static_cast<uint32_t>(text.size());
  return value;
}

tenon_value make_string_list(const std::vector<std::string>& texts) {
  const auto count = static_cast<int64_t>(texts.size());
  auto* strings = static_cast<tenon_string*>(
      allocate(at_least_one(count * static_cast<int64_t>(sizeof(tenon_string)))));
  for (int64_t i = 0; i < count; ++i) {
    const std::string& text = texts[static_cast<size_t>(i)];
    const auto length = static_cast<int64_t>(text.size());
    strings[i] = {static_cast<const char*>(copy_bytes(text.data(), length)), length};
  }
  tenon_value value{};
  value.tag = TENON_VALUE_STRING_LIST;
  value.length = static_cast<uint32_t>(count);
  value.as.strings = strings;
  return value;
}

tenon_value make_tensor_list(std::vector<TensorRef> tensors) {
  const auto count = static_cast<int64_t>(tensors.size());
  auto** handles = static_cast<Tensor**>(allocate(at_least_one(count * 8)));
  for (int64_t i = 0; i < count; ++i) handles[i] = tensors[static_cast<size_t>(i)].give();
  tenon_value value{};
  value.tag = TENON_VALUE_TENSOR_LIST;
  value.length = static_cast<uint32_t>(count);
  value.as.tensors = handles;
  return value;
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
