// Modules: registration, walks, printing.
#include "core/nn/module.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "core/autograd/history.hpp"
#include "core/base/error.hpp"
#include "core/base/stack.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/arguments.hpp"
#include "core/dispatch/call.hpp"
#include "core/dispatch/modes.hpp"
#include "core/dispatch/registry.hpp"
#include "core/dispatch/thread_state.hpp"
#include "core/dispatch/value.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

void tenon_module::destroy(tenon_module* module) noexcept {
  const tenon_module_descriptor& descriptor = module->type->descriptor;
  if (module->state != nullptr && descriptor.destroy != nullptr)
    descriptor.destroy(descriptor.self, module->state);
  for (const Child& child : module->children) {
    if (child.module != nullptr) child.module->release();
  }
  delete module;
}

namespace tenon::core {

namespace {

std::string type_name(const tenon_module& module) {
  return std::string(module.type->schema.short_name());
}

void check_name(const tenon_module& module, const char* kind, const std::string& name) {
  if (name.empty())
    throw Error(TENON_ERROR_VALUE, std::string(kind) + " name can't be empty string \"\"");
  if (name.find('.') != std::string::npos) {
    throw Error(TENON_ERROR_VALUE,
                std::string(kind) + " name can't contain \".\", got: " + quote(name));
  }
  const auto taken = [&](const auto& list) {
    return std::any_of(list.begin(), list.end(),
                       [&](const auto& entry) { return entry.name == name; });
  };
  if (taken(module.parameters) || taken(module.buffers) || taken(module.children)) {
    throw Error(TENON_ERROR_VALUE, std::string(kind) + " " + quote(name) +
                                       " is already defined in " + type_name(module));
  }
}

std::string attribute_text(const tenon_value& value) {
  // What is long stays out of a line.
  if (value.tag == TENON_VALUE_TREE || value.tag == TENON_VALUE_MODULE) return "...";
  return value_text(value, [](const Tensor*) { return std::string("..."); });
}

void walk_into(tenon_module& module, const std::string& prefix, Walk what, bool recurse,
               std::vector<WalkItem>& items) {
  const auto full = [&](const std::string& name) {
    return prefix.empty() ? name : prefix + "." + name;
  };
  if (what == Walk::Modules) items.push_back({prefix, nullptr, &module});
  if (what == Walk::Parameters || what == Walk::Buffers) {
    for (const tenon_module::Entry& entry :
         what == Walk::Parameters ? module.parameters : module.buffers) {
      if (entry.tensor) items.push_back({full(entry.name), entry.tensor.get(), nullptr});
    }
  }
  for (const tenon_module::Child& child : module.children) {
    if (child.module == nullptr) continue;
    if (what == Walk::Children) {
      items.push_back({full(child.name), nullptr, child.module});
      if (recurse) walk_into(*child.module, full(child.name), what, recurse, items);
    } else if (recurse) {
      walk_into(*child.module, full(child.name), what, recurse, items);
    }
  }
}

}  // namespace

// ---- the table ----

ModuleTable& ModuleTable::process() {
  static ModuleTable* const table = new ModuleTable;
  return *table;
}

std::vector<std::unique_ptr<ModuleType>> ModuleTable::prepare(
    const std::string& provider,
    std::span<const tenon_module_descriptor* const> descriptors) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::unique_ptr<ModuleType>> types;
  for (const tenon_module_descriptor* descriptor : descriptors) {
    auto type = std::make_unique<ModuleType>();
    std::memcpy(&type->descriptor, descriptor,
                std::min<size_t>(descriptor->size, sizeof(type->descriptor)));
    type->schema = parse_schema(type->descriptor.schema);
    type->provider = provider;
    if (type->descriptor.forward == nullptr && type->descriptor.tenon_function == nullptr) {
      throw Error(TENON_ERROR_VALUE,
                  "module '" + type->schema.name + "' of plugin '" + provider + "' has no forward");
    }
    if (const auto present = types_.find(type->schema.name); present != types_.end()) {
      throw Error(TENON_ERROR_PLUGIN, "module '" + type->schema.name + "' has two providers: '" +
                                          present->second->provider + "' and '" + provider + "'");
    }
    types.push_back(std::move(type));
  }
  return types;
}

void ModuleTable::commit(std::vector<std::unique_ptr<ModuleType>> types) {
  const std::lock_guard lock(mutex_);
  for (std::unique_ptr<ModuleType>& type : types) {
    const std::string name = type->schema.name;
    types_.emplace(name, std::move(type));
  }
}

const ModuleType* ModuleTable::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = types_.find(std::string(name));
  return found == types_.end() ? nullptr : found->second.get();
}

const ModuleType& ModuleTable::require(std::string_view name) const {
  if (const ModuleType* type = find(name)) return *type;
  if (finder_) finder_(name);
  if (const ModuleType* type = find(name)) return *type;
  throw Error(TENON_ERROR_VALUE, "no module type is named '" + std::string(name) + "'");
}

// ---- attributes ----

void OwnedValues::add(const tenon_value& given) {
  tenon_value value = given;
  switch (value.tag) {
    case TENON_VALUE_STRING:
      texts_.push_back(std::make_unique<std::string>(value.as.string, value.length));
      value.as.string = texts_.back()->data();
      break;
    case TENON_VALUE_INT_LIST:
      integers_.push_back(std::make_unique<std::vector<int64_t>>(value.as.integers,
                                                                 value.as.integers + value.length));
      value.as.integers = integers_.back()->data();
      break;
    case TENON_VALUE_FLOAT_LIST:
      numbers_.push_back(
          std::make_unique<std::vector<double>>(value.as.numbers, value.as.numbers + value.length));
      value.as.numbers = numbers_.back()->data();
      break;
    case TENON_VALUE_TENSOR:
      tensors_.emplace_back(value.as.tensor);
      break;
    case TENON_VALUE_TREE:
      trees_.emplace_back(value.as.tree);
      break;
    default:
      break;
  }
  values_.push_back(value);
}

// ---- creation ----

ModuleRef create_module(const ModuleType& type, std::span<const tenon_value> positional,
                        std::span<const tenon_string> keywords,
                        std::span<const tenon_value> keyword_values) {
  BoundArguments bound;
  bind_arguments(type.schema, positional, keywords, keyword_values, bound);
  ModuleRef module = ModuleRef::take(new tenon_module(type));
  for (size_t i = 0; i < type.schema.parameters.size(); ++i)
    module->attributes.add(bound.values[i]);
  if (type.descriptor.create != nullptr) {
    const GradModeGuard guard(false);
    tenon_error* error = nullptr;
    const tenon_status status = type.descriptor.create(
        type.descriptor.self, module.get(), module->attributes.data(), &module->state, &error);
    if (status != TENON_OK) throw_status(status, error);
  }
  return module;
}

namespace {

std::string located(const tenon_tree& node, const std::string& message) {
  const std::string place = place_text(node.source(), node.place());
  const std::string pointer = pointer_of(node);
  return (place.empty() ? "" : place + ": ") + (pointer.empty() ? "" : pointer + ": ") + message;
}

// Attribute values as arrays of numbers need memory for the time of the call.
struct AttributeScratch {
  std::vector<std::unique_ptr<std::vector<int64_t>>> integers;
  std::vector<std::unique_ptr<std::vector<double>>> numbers;

  tenon_value convert(const tenon_tree& node) {
    if (!node.is_array()) return node.value();
    const bool whole = std::all_of(node.children().begin(), node.children().end(),
                                   [](const tenon_tree& child) { return child.is_int(); });
    const bool numeric = std::all_of(node.children().begin(), node.children().end(),
                                     [](const tenon_tree& child) { return child.is_number(); });
    if (!numeric) return node.value();
    tenon_value value{};
    value.length = static_cast<uint32_t>(node.size());
    if (whole) {
      integers.push_back(std::make_unique<std::vector<int64_t>>());
      for (const tenon_tree& child : node.children()) integers.back()->push_back(child.as_int());
      value.tag = TENON_VALUE_INT_LIST;
      value.as.integers = integers.back()->data();
    } else {
      numbers.push_back(std::make_unique<std::vector<double>>());
      for (const tenon_tree& child : node.children()) numbers.back()->push_back(child.as_double());
      value.tag = TENON_VALUE_FLOAT_LIST;
      value.as.numbers = numbers.back()->data();
    }
    return value;
  }
};

}  // namespace

ModuleRef create_module(const tenon_tree& tree) {
  if (tree.is_string()) {
    return create_module(ModuleTable::process().require(tree.as_string()), {}, {}, {});
  }
  if (!tree.is_object())
    throw Error(TENON_ERROR_CONFIG,
                located(tree, "a module is an object with a \"type\", or a type's name"));
  const tenon_tree* type_node = tree.find("type");
  if (type_node == nullptr || !type_node->is_string())
    throw Error(TENON_ERROR_CONFIG, located(tree, "a module needs a \"type\""));
  const ModuleType* type = nullptr;
  ModuleRef module;
  const tenon_tree* layers = nullptr;
  try {
    type = &ModuleTable::process().require(type_node->as_string());
    AttributeScratch scratch;
    std::vector<tenon_string> keywords;
    std::vector<tenon_value> values;
    const bool own_layers = type->schema.find("layers") >= 0;
    for (const tenon_tree& child : tree.children()) {
      if (child.key() == "type") continue;
      if (child.key() == "layers" && !own_layers) {
        layers = &child;
        continue;
      }
      keywords.push_back({child.key().data(), static_cast<int64_t>(child.key().size())});
      values.push_back(scratch.convert(child));
    }
    module = create_module(*type, {}, keywords, values);
  } catch (Error& error) {
    error.message = located(tree, error.message);
    throw;
  }
  if (layers != nullptr) {
    if (!layers->is_array())
      throw Error(TENON_ERROR_CONFIG, located(*layers, "\"layers\" is an array of modules"));
    size_t index = 0;
    for (const tenon_tree& layer : layers->children()) {
      const ModuleRef child = create_module(layer);
      register_child(*module, std::to_string(index++), child.get());
    }
  }
  return module;
}

// ---- registration ----

void register_parameter(tenon_module& module, const std::string& name, Tensor* tensor) {
  check_name(module, "parameter", name);
  if (tensor != nullptr) {
    if (!is_leaf(*tensor)) {
      throw Error(TENON_ERROR_VALUE, "cannot assign a computed tensor as parameter " + quote(name) +
                                         ": parameters are leaves; use detach()");
    }
    // A parameter requires grad unless its maker has said otherwise by an integer dtype.
    if (dtype_floating(tensor->view.dtype)) set_requires_grad(*tensor, true);
  }
  module.parameters.push_back({name, TensorRef(tensor)});
}

void register_buffer(tenon_module& module, const std::string& name, Tensor* tensor,
                     bool persistent) {
  check_name(module, "buffer", name);
  module.buffers.push_back({name, TensorRef(tensor), persistent});
}

void register_child(tenon_module& module, const std::string& name, tenon_module* child) {
  check_name(module, "module", name);
  for (const WalkItem& item :
       child == nullptr ? std::vector<WalkItem>{} : walk(*child, Walk::Modules, true)) {
    if (item.module == &module)
      throw Error(TENON_ERROR_VALUE,
                  "module " + quote(name) + " contains the module that it is registered in");
  }
  if (child != nullptr) child->retain();
  module.children.push_back({name, child});
}

Tensor* find_tensor(tenon_module& module, std::string_view name) {
  if (const size_t dot = name.find('.'); dot != std::string_view::npos) {
    tenon_module* child = find_child(module, name.substr(0, dot));
    if (child != nullptr) return find_tensor(*child, name.substr(dot + 1));
  }
  for (const auto* list : {&module.parameters, &module.buffers}) {
    for (const tenon_module::Entry& entry : *list) {
      if (entry.name == name) return entry.tensor.get();
    }
  }
  throw Error(TENON_ERROR_VALUE, type_name(module) + " has no parameter or buffer " + quote(name));
}

tenon_module* find_child(tenon_module& module, std::string_view name) {
  const size_t dot = name.find('.');
  for (const tenon_module::Child& child : module.children) {
    if (child.name != name.substr(0, dot)) continue;
    return dot == std::string_view::npos || child.module == nullptr
               ? child.module
               : find_child(*child.module, name.substr(dot + 1));
  }
  throw Error(TENON_ERROR_VALUE, type_name(module) + " has no child module " + quote(name));
}

void set_training(tenon_module& module, bool training) {
  module.training = training;
  for (const tenon_module::Child& child : module.children) {
    if (child.module != nullptr) set_training(*child.module, training);
  }
}

void call_module(tenon_module& module, std::span<const tenon_value> inputs, tenon_value& result) {
  const tenon_module_descriptor& descriptor = module.type->descriptor;
  if (descriptor.forward == nullptr) {
    throw Error(TENON_ERROR_TYPE, module.type->schema.name +
                                      " is a mode: enter it by a ModeScope; it has no forward to "
                                      "be called");
  }
  if (stack_may_be_low() && stack_is_low(kCallReserve)) {
    throw Error(
        TENON_ERROR_RUNTIME,
        module.type->schema.name +
            "(): endless recursion: calls inside each other have used up the stack; a module "
            "that leads back to itself needs a case in which it does not");
  }
  tenon_error* error = nullptr;
  const tenon_status status =
      descriptor.forward(descriptor.self, module.state, &module, inputs.data(),
                         static_cast<int64_t>(inputs.size()), &result, &error);
  if (status != TENON_OK) throw_status(status, error);
}

namespace {

tenon_status ask_module(void* self, const tenon_call* call, tenon_value* results,
                        tenon_error** error) {
  auto* module = static_cast<tenon_module*>(self);
  const tenon_module_descriptor& descriptor = module->type->descriptor;
  return descriptor.tenon_function(descriptor.self, module->state, module, call, results, error);
}

}  // namespace

ModeEntry* enter_module(tenon_module& module, bool below) {
  if (module.type->descriptor.tenon_function == nullptr) {
    throw Error(TENON_ERROR_TYPE,
                module.type->schema.name + " is no mode: its type has no tenon_function");
  }
  ModeEntry* mode = enter_mode(module.type->schema.name, ask_module, &module, below);
  module.retain();
  mode->release_self = [](void* self) { static_cast<tenon_module*>(self)->release(); };
  return mode;
}

std::vector<WalkItem> walk(tenon_module& module, Walk what, bool recurse) {
  std::vector<WalkItem> items;
  walk_into(module, "", what, recurse, items);
  return items;
}

namespace {

// A copy; one of another type is asked to convert itself.
TensorRef convert(Tensor& tensor, tenon_dtype dtype) {
  if (!tensor.typed()) return contiguous_copy(tensor, dtype);
  tenon_value wanted{};
  wanted.tag = TENON_VALUE_DTYPE;
  wanted.as.integer = dtype;
  const tenon_value arguments[] = {tensor_value(&tensor), wanted};
  const GradModeGuard guard(false);
  return call_tensor(Registry::process().require("to"), arguments);
}

}  // namespace

void convert(tenon_module& module, tenon_dtype dtype) {
  dtype_check(dtype);
  if (!dtype_floating(dtype)) {
    throw Error(TENON_ERROR_TYPE,
                std::string("modules are converted to floating point dtypes only, not ") +
                    dtype_text(dtype));
  }
  for (auto* list : {&module.parameters, &module.buffers}) {
    for (tenon_module::Entry& entry : *list) {
      if (!entry.tensor || !dtype_floating(entry.tensor->view.dtype) ||
          entry.tensor->view.dtype == dtype)
        continue;
      TensorRef converted = convert(*entry.tensor, dtype);
      if (entry.tensor->requires_grad()) set_requires_grad(*converted, true);
      entry.tensor = std::move(converted);
    }
  }
  for (const tenon_module::Child& child : module.children) {
    if (child.module != nullptr) convert(*child.module, dtype);
  }
}

std::string module_text(tenon_module& module) {
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
  } else {
    for (size_t i = 0; i < module.attributes.size(); ++i) {
      if (!extra.empty()) extra += ", ";
      extra += module.type->schema.parameters[i].name + "=" +
               attribute_text(module.attributes.data()[i]);
    }
  }
  std::string text = type_name(module) + "(" + extra;
  if (module.children.empty()) return text + ")";
  if (!extra.empty()) text += "\n  " + extra;
  for (const tenon_module::Child& child : module.children) {
    std::string inner = child.module == nullptr ? "None" : module_text(*child.module);
    for (size_t at = inner.find('\n'); at != std::string::npos; at = inner.find('\n', at + 3))
      inner.insert(at + 1, "  ");
    text += "\n  (" + child.name + "): " + inner;
  }
  return text + "\n)";
}

}  // namespace tenon::core
