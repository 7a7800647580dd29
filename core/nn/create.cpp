// Creation of modules.
#include <cstddef>
#include <deque>
#include <unordered_map>
#include <utility>

#include "core/autograd/engine/grad.hpp"
#include "core/autograd/engine/grow_stack.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/binding/arguments.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/table/core_ops.hpp"
#include "core/nn/module.hpp"
#include "core/tensor/copy.hpp"

namespace tenon::core {

namespace {

// Settings of the document that a module is made of on this thread, for documents in it that the
// module's type reads.
constinit thread_local const tenon_module_settings* running_settings = nullptr;

class SettingsGuard {
 public:
  explicit SettingsGuard(const tenon_module_settings* settings) noexcept
      : previous_(std::exchange(running_settings, settings)) {}
  ~SettingsGuard() { running_settings = previous_; }
  SettingsGuard(const SettingsGuard&) = delete;
  SettingsGuard& operator=(const SettingsGuard&) = delete;

 private:
  const tenon_module_settings* previous_;
};

// `attributes` has one value for each parameter of the schema.
ModuleRef make_module(const ModuleType& type, const tenon_value* attributes) {
  ModuleRef module = ModuleRef::take(new tenon_module(type));
  for (size_t i = 0; i < type.schema.parameters.size(); ++i) module->attributes.add(attributes[i]);
  const GradModeGuard guard(false);
  call_checked(type.descriptor.create, type.descriptor.self, module.get(),
               module->attributes.data(), &module->state);
  return module;
}

}  // namespace

ModuleRef create_module(const ModuleType& type, std::span<const tenon_value> positional,
                        std::span<const tenon_string> keywords,
                        std::span<const tenon_value> keyword_values) {
  BoundArguments bound;
  bind_arguments(type.schema, {positional, keywords, keyword_values}, bound);
  return make_module(type, bound.values);
}

// ---- from a document ----

namespace {

// Makes the modules of a document, and continues after a fault to find the others.
class Builder {
 public:
  Builder(const ModuleTable& types, const tenon_module_settings* settings)
      : types_(types), settings_(settings) {}

  // Null after a fault.
  ModuleRef build(const tenon_json& document) {
    ModuleRef module;
    with_stack([&] { module = build_here(document); });
    return module;
  }
  std::string faults() const { return join(faults_, "\n"); }

 private:
  // Memory that the values of one module's attributes point to, as long as it is made.
  struct Attributes {
    BoundArguments bound;
    std::vector<ModuleRef> made;
    std::vector<TensorRef> tensors;
    std::deque<std::vector<tenon_module*>> lists;
    std::deque<std::vector<tenon_tensor*>> tensor_lists;
    std::deque<std::vector<tenon_named_module>> dictionaries;
    std::deque<std::string> names;
  };

  // With the schema, where the fault is one of a type's attributes.
  void fault(const tenon_json& node, std::string_view what, const ModuleType* type = nullptr) {
    std::string text = place_of(node);
    if (!text.empty()) text += ": ";
    text += what;
    if (type != nullptr) text += format_text("; the schema is {}", type->schema.text);
    faults_.push_back(std::move(text));
  }

  // Runs `body`, whose error becomes a fault at the node.
  template <class Body>
  void located(const tenon_json& node, const ModuleType* type, Body&& body) {
    try {
      body();
    } catch (const Error& error) {
      fault(node, error.message, type);
    }
  }

  const ModuleType* type_of(const tenon_json& document) {
    const tenon_json* name = &document;
    if (document.is_object()) name = document.find("type");
    const ModuleType* type = nullptr;
    if (document.is_object() && (name == nullptr || !name->is_string()))
      fault(document, "a module needs a \"type\"");
    else if (!name->is_string())
      fault(document, "a module is an object with a \"type\", or a type's name");
    else
      located(*name, nullptr, [&] { type = &types_.require(name->as_string()); });
    return type;
  }

  ModuleRef build_here(const tenon_json& document) {
    const ModuleType* type = type_of(document);
    if (type == nullptr) return {};
    const size_t faults_before = faults_.size();
    Attributes attributes;
    bool given[kMaxParameters] = {};
    for (const tenon_json& node :
         document.is_object() ? document.children() : std::span<const tenon_json>()) {
      if (node.key() == "type") continue;
      const int64_t index = type->schema.find(node.key());
      if (index < 0 && is_setting(node.key())) continue;
      if (index < 0) {
        refuse_name(node, *type);
        continue;
      }
      given[index] = true;
      set(node, *type, static_cast<size_t>(index), attributes);
    }
    fill_defaults(document, *type, given, attributes);
    if (faults_.size() != faults_before) return {};
    ModuleRef module;
    located(document, nullptr, [&] {
      const SettingsGuard running(settings_);
      module = make_module(*type, attributes.bound.values);
    });
    if (!module) return {};
    module->place = place_of(document);
    if (settings_ != nullptr && document.is_object()) apply_settings(*module, document);
    return faults_.size() == faults_before ? module : ModuleRef();
  }

  bool is_setting(std::string_view key) const {
    for (uint32_t i = 0; settings_ != nullptr && i < settings_->count; ++i) {
      if (key == settings_->keys[i]) return true;
    }
    return false;
  }

  // An attribute of the same name takes precedence. The first fault ends it.
  void apply_settings(tenon_module& module, const tenon_json& document) {
    const size_t faults_before = faults_.size();
    for (uint32_t i = 0; i < settings_->count && faults_.size() == faults_before; ++i) {
      const tenon_json* value = document.find(settings_->keys[i]);
      if (value == nullptr || module.type->schema.find(value->key()) >= 0) continue;
      located(*value, nullptr,
              [&] { call_checked(settings_->apply, settings_->self, &module, i, value); });
    }
  }

  void refuse_name(const tenon_json& node, const ModuleType& type) {
    Words names;
    for (const Parameter& parameter : type.schema.parameters) names.push_back(parameter.name);
    fault(node,
          format_text("{}() got an unexpected keyword argument {}{}", type.short_name(),
                      quote(node.key()), suggestion(node.key(), names)),
          &type);
  }

  void fill_defaults(const tenon_json& document, const ModuleType& type, const bool* given,
                     Attributes& attributes) {
    Words missing;
    for (size_t i = 0; i < type.schema.parameters.size(); ++i) {
      const Parameter& parameter = type.schema.parameters[i];
      if (given[i]) continue;
      if (parameter.has_default)
        attributes.bound.values[i] = parameter.default_value.value;
      else
        missing.push_back(parameter.name);
    }
    if (missing.empty()) return;
    fault(document,
          format_text("{}() missing {} required {}: {}", type.short_name(), missing.size(),
                      missing.size() == 1 ? "attribute" : "attributes", quoted_list(missing)),
          &type);
  }

  void set(const tenon_json& node, const ModuleType& type, size_t index, Attributes& attributes) {
    const Parameter& parameter = type.schema.parameters[index];
    tenon_value& value = attributes.bound.values[index];
    if (parameter.type.kind == TypeKind::module && !(node.is_null() && parameter.type.optional))
      return set_modules(node, parameter, value, attributes);
    if (takes_written_tensor(node, parameter)) {
      return located(node, &type, [&] {
        value = {};
        if (parameter.type.list) return set_tensors(node, value, attributes);
        value.as.tensor = written_tensor(node, attributes);
        value.tag = value.as.tensor == nullptr ? TENON_VALUE_NONE : TENON_VALUE_TENSOR;
      });
    }
    located(node, &type,
            [&] { value = bind_argument(type.schema, index, json_value(node), attributes.bound); });
  }

  bool takes_written_tensor(const tenon_json& node, const Parameter& parameter) const {
    return settings_ != nullptr &&
           settings_->size >= offsetof(tenon_module_settings, tensor) + sizeof(void*) &&
           settings_->tensor != nullptr && parameter.type.kind == TypeKind::tensor &&
           !parameter.type.dictionary &&
           (node.is_array() || (node.is_number() && !parameter.type.list));
  }

  tenon_tensor* written_tensor(const tenon_json& node, Attributes& attributes) {
    tenon_tensor* made = nullptr;
    call_checked(settings_->tensor, settings_->self, &node, &made);
    return attributes.tensors.emplace_back(TensorRef::take(made)).get();
  }

  void set_tensors(const tenon_json& node, tenon_value& value, Attributes& attributes) {
    std::vector<tenon_tensor*>& list = attributes.tensor_lists.emplace_back();
    for (const tenon_json& child : node.children())
      list.push_back(written_tensor(child, attributes));
    value.tag = TENON_VALUE_TENSOR_LIST;
    value.length = static_cast<uint32_t>(list.size());
    value.as.tensors = list.data();
  }

  void set_modules(const tenon_json& node, const Parameter& parameter, tenon_value& value,
                   Attributes& attributes) {
    value = {};
    if (!parameter.type.list) {
      value.tag = TENON_VALUE_MODULE;
      value.as.module = keep(node, attributes);
      return;
    }
    if (!node.is_array() && !(node.is_object() && parameter.type.dictionary)) {
      fault(node, format_text("\"{}\" is {} of modules", parameter.name,
                              parameter.type.dictionary ? "an object or array" : "an array"));
      return;
    }
    std::vector<tenon_module*>& list = attributes.lists.emplace_back();
    for (const tenon_json& child : node.children()) list.push_back(keep(child, attributes));
    value.length = static_cast<uint32_t>(list.size());
    if (!parameter.type.dictionary) {
      value.tag = TENON_VALUE_MODULE_LIST;
      value.as.modules = list.data();
      return;
    }
    std::vector<tenon_named_module>& named = attributes.dictionaries.emplace_back();
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string_view name = node.is_object()
                                        ? node.children()[i].key()
                                        : attributes.names.emplace_back(std::to_string(i));
      named.push_back({{name.data(), static_cast<int64_t>(name.size())}, list[i]});
    }
    value.tag = TENON_VALUE_MODULE_DICT;
    value.as.named_modules = named.data();
  }

  // Null after a fault.
  tenon_module* keep(const tenon_json& node, Attributes& attributes) {
    return attributes.made.emplace_back(build(node)).get();
  }

  const ModuleTable& types_;
  const tenon_module_settings* settings_;
  std::vector<std::string> faults_;
};

}  // namespace

ModuleRef create_module(const tenon_json& document, const tenon_module_settings* settings,
                        const ModuleTable& types) {
  Builder builder(types, settings != nullptr ? settings : running_settings);
  ModuleRef module = builder.build(document);
  if (const std::string faults = builder.faults(); !faults.empty())
    throw Error(TENON_ERROR_CONFIG, faults);
  return module;
}

// ---- from another module ----

namespace {

// Copies of a tree's modules and tensors, each made once.
class Cloner {
 public:
  ModuleRef clone(tenon_module& module) {
    if (const auto made = modules_.find(&module); made != modules_.end()) return made->second;
    ModuleRef copy;
    with_stack([&] { copy = clone_here(module); });
    return copy;
  }

 private:
  ModuleRef clone_here(tenon_module& module) {
    const tenon_module_descriptor& descriptor = module.type->descriptor;
    if (module.state != nullptr && descriptor.clone == nullptr) {
      throw Error(TENON_ERROR_RUNTIME,
                  "clone is not implemented for {}: its instances have a state that plugin '{}' "
                  "does not copy",
                  module.type->schema.name, module.type->provider);
    }
    ModuleRef copy = ModuleRef::take(new tenon_module(*module.type));
    modules_.emplace(&module, copy);
    for (size_t i = 0; i < module.attributes.size(); ++i)
      copy_attribute(module.attributes.data()[i], *copy);
    copy->names = module.names;
    copy->training = module.training;
    copy->place = module.place;
    if (const ModuleHooks* hooks = module.hooks.get()) copy->hooks.make().add_copies(*hooks);
    if (module.own_forward != nullptr)
      copy->own_forward =
          std::make_unique<Schema>(parse_forward_schema(module.own_forward->text, *module.type));
    for (const auto& entry : module.parameters)
      copy->parameters.push_back({entry.name, clone(entry.tensor.get()), entry.persistent});
    for (const auto& entry : module.buffers)
      copy->buffers.push_back({entry.name, clone(entry.tensor.get()), entry.persistent});
    for (const auto& child : module.children) copy_child(child, *copy);
    if (module.state == nullptr) return copy;
    call_checked(descriptor.clone, descriptor.self, module.state, copy.get(), &copy->state);
    return copy;
  }

  // Modules among attributes are those of the copy.
  void copy_attribute(const tenon_value& given, tenon_module& copy) {
    for_each_module(copy.attributes.add(given), [&](tenon_module*& module) {
      std::exchange(module, clone(*module).give())->release();
    });
  }

  void copy_child(const tenon_module::Child& child, tenon_module& copy) {
    tenon_module* made = nullptr;
    if (child.module != nullptr) {
      made = clone(*child.module).give();
      made->registrations.fetch_add(1, std::memory_order_relaxed);
    }
    copy.children.push_back({child.name, made});
  }

  TensorRef clone(Tensor* tensor) {
    if (tensor == nullptr) return {};
    TensorRef& copy = tensors_[tensor];
    if (copy) return copy;
    const GradModeGuard no_grad(false);
    copy =
        tensor->typed() ? core_ops::clone(*tensor) : contiguous_copy(*tensor, tensor->view.dtype);
    if (tensor->requires_grad()) set_requires_grad(*copy, true);
    return copy;
  }

  std::unordered_map<const tenon_module*, ModuleRef> modules_;
  std::unordered_map<const Tensor*, TensorRef> tensors_;
};

}  // namespace

ModuleRef clone_module(tenon_module& module) { return Cloner().clone(module); }

}  // namespace tenon::core
