// The printed form of one module.
#include "core/nn/module_text.hpp"

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/binding/value.hpp"

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

}  // namespace

std::string module_text(tenon_module& module) {
  return format_text("{}({})", module.type->short_name(), extra_text(module));
}

}  // namespace tenon::core
