// Text of values and of typed tensors.
#include "core/runtime/value_text.hpp"

#include "core/autograd/node.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/tree.hpp"
#include "core/dispatch/thread_state.hpp"
#include "core/dispatch/types.hpp"
#include "core/dispatch/value.hpp"
#include "core/nn/module.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"
#include "core/tensor/text.hpp"

namespace tenon::core {

namespace {

template <class Element>
std::string list_text(uint32_t length, Element&& element) {
  std::string text = "[";
  for (uint32_t i = 0; i < length; ++i) {
    if (i > 0) text += ", ";
    text += element(i);
  }
  return text + "]";
}

}  // namespace

std::string typed_text(const Tensor* tensor) {
  const auto* node = tensor == nullptr ? nullptr : static_cast<const Node*>(tensor->node);
  const std::string_view node_name = node == nullptr ? "" : node->name();
  if (tensor == nullptr || !tensor->typed()) return tensor_text(tensor, node_name);
  const TensorType& type = TypeTable::process().at(tensor->view.type);
  const TensorType* rule = &type;
  while (rule != nullptr && rule->descriptor.text == nullptr) rule = rule->parent;
  if (rule == nullptr) {
    if (type.is_tensor) return tensor_text(tensor, node_name, type.name);
    return type.name + "(size=" + shape_text(tensor->shape()) + ")";
  }
  const TypesDisabledGuard types(true);
  const GradModeGuard grad(false);
  tenon_value text{};
  tenon_error* error = nullptr;
  const tenon_status status =
      rule->descriptor.text(rule->descriptor.self, const_cast<Tensor*>(tensor), &text, &error);
  if (status != TENON_OK) throw_status(status, error);
  std::string result;
  if (text.tag == TENON_VALUE_STRING) result.assign(text.as.string, text.length);
  const bool good = text.tag == TENON_VALUE_STRING;
  release_value(text);
  if (!good) throw Error(TENON_ERROR_TYPE, "the text form of " + rule->name + " is no string");
  return result;
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
      return float_text(value.as.number);
    case TENON_VALUE_DTYPE:
      return dtype_text(static_cast<tenon_dtype>(value.as.integer));
    case TENON_VALUE_STRING:
      return quote({value.as.string, value.length});
    case TENON_VALUE_TENSOR:
      return typed_text(value.as.tensor);
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
      return list_text(value.length, [&](uint32_t i) { return typed_text(value.as.tensors[i]); });
    case TENON_VALUE_TREE:
      return value.as.tree == nullptr ? "None" : json(*value.as.tree);
    case TENON_VALUE_NOT_IMPLEMENTED:
      return "NotImplemented";
    case TENON_VALUE_MODULE:
      return value.as.module == nullptr ? "None" : module_text(*value.as.module);
    default:
      return value_type_text(value);
  }
}

}  // namespace tenon::core
