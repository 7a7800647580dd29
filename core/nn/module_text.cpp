// The printed form of a tree of modules.
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

struct Step {
  tenon_module* module;
  size_t next_child;
};

// The text between the parentheses behind a type.
std::string extra_text(tenon_module& module) {
  std::string extra;
  const tenon_module_descriptor& descriptor = module.type->descriptor;
  if (descriptor.extra_repr != nullptr) {
    tenon_value text{};
    tenon_error* error = nullptr;
    const tenon_status status =
        descriptor.extra_repr(descriptor.self, module.state, &module, &text, &error);
    if (status != TENON_OK) throw_status(status, error);
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
  std::string text;
  std::vector<Step> steps;
  const auto new_line = [&](size_t depth) { (text += '\n').append(2 * depth, ' '); };
  const auto open = [&](tenon_module& opened) {
    const size_t depth = steps.size();
    text += format_text("{}(", opened.type->short_name());
    const std::string extra = extra_text(opened);
    if (!opened.children.empty() && !extra.empty()) new_line(depth + 1);
    for (const char c : extra) {
      if (c == '\n')
        new_line(depth);
      else
        text += c;
    }
    if (opened.children.empty())
      text += ")";
    else
      steps.push_back({&opened, 0});
  };
  open(module);
  while (!steps.empty()) {
    Step& step = steps.back();
    if (step.next_child == step.module->children.size()) {
      steps.pop_back();
      new_line(steps.size());
      text += ")";
      continue;
    }
    const tenon_module::Child& child = step.module->children[step.next_child++];
    new_line(steps.size());
    text += format_text("({}): ", child.name);
    if (child.module == nullptr)
      text += "None";
    else
      open(*child.module);
  }
  return text;
}

}  // namespace tenon::core
