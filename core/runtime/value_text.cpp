// Text of values and of typed tensors.
#include "core/runtime/value_text.hpp"

#include "core/autograd/graph/node.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/nn/module_text.hpp"
#include "core/tensor/shape.hpp"
#include "core/tensor/text.hpp"

namespace tenon::core {

std::string typed_text(const Tensor* tensor) {
  const auto* node = tensor == nullptr ? nullptr : static_cast<const Node*>(tensor->node);
  const std::string_view node_name = node == nullptr ? "" : node->name();
  if (tensor == nullptr || !tensor->typed()) return tensor_text(tensor, node_name);
  const TensorType& type = TypeTable::process().at(tensor->view.type);
  const TensorType* owner = &type;
  while (owner != nullptr && owner->descriptor.text == nullptr) owner = owner->parent;
  if (owner == nullptr) {
    if (type.is_tensor) return tensor_text(tensor, node_name, type.name);
    return format_text("{}(size={})", type.name, shape_text(tensor->shape()));
  }
  const TypesDisabledGuard types(true);
  const GradModeGuard grad(false);
  tenon_value text{};
  call_checked(owner->descriptor.text, owner->descriptor.self, const_cast<Tensor*>(tensor), &text);
  std::string result;
  if (text.tag == TENON_VALUE_STRING) result.assign(text.as.string, text.length);
  const bool good = text.tag == TENON_VALUE_STRING;
  release_value(text);
  if (!good) throw Error(TENON_ERROR_TYPE, "the text form of {} is not a string", owner->name);
  return result;
}

std::string value_text(const tenon_value& value) {
  if (value.tag == TENON_VALUE_MODULE && value.as.module != nullptr)
    return module_text(*value.as.module);
  return value_text(value, typed_text);
}

}  // namespace tenon::core
