// Text of values, of typed tensors and of modules.
#include "core/autograd/graph/node.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/nn/module.hpp"
#include "core/runtime/runtime.hpp"
#include "core/tensor/shape.hpp"
#include "core/tensor/text.hpp"

namespace tenon::core {

namespace {

std::string attribute_text(const tenon_value& value) {
  // Long values are abbreviated.
  if (value.tag == TENON_VALUE_JSON) return "...";
  return value_text(value, [](const Tensor*) { return std::string("..."); });
}

// The text between the parentheses behind a type.
std::string extra_text(tenon_module& module) {
  std::string extra;
  const tenon_module_descriptor& descriptor = module.type->descriptor;
  if (descriptor.extra_repr != nullptr) {
    tenon_value text{};
    call_checked(descriptor.extra_repr, descriptor.self, module.state, &module, &text);
    if (text.tag == TENON_VALUE_STRING) extra.assign(text.as.string, text.length);
    release_value(text);
    return extra;
  }
  for (size_t i = 0; i < module.attributes.size(); ++i) {
    // Modules are printed as children.
    if (module.type->schema.parameters[i].type.kind == TypeKind::module) continue;
    if (!extra.empty()) extra += ", ";
    extra += format_text("{}={}", module.type->schema.parameters[i].name,
                         attribute_text(module.attributes.data()[i]));
  }
  return extra;
}

// A module as its type and what its type prints of it, without its children.
std::string module_text(tenon_module& module) {
  return format_text("{}({})", module.type->short_name(), extra_text(module));
}

}  // namespace

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
