// Modules: registration, walks, printing.
#include "core/nn/module.hpp"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "core/autograd/grad.hpp"
#include "core/autograd/grow_stack.hpp"
#include "core/autograd/history.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/growable.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/arguments.hpp"
#include "core/dispatch/call.hpp"
#include "core/dispatch/core_ops.hpp"
#include "core/dispatch/modes.hpp"
#include "core/dispatch/registry.hpp"
#include "core/dispatch/thread_state.hpp"
#include "core/dispatch/value.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace {

// Modules whose last reference went while another was being destroyed on this thread: trees of any
// depth are destroyed one module after another.
struct DeferredDeletes {
  tenon_module* waiting = nullptr;
  bool draining = false;
};
constinit thread_local DeferredDeletes deferred_deletes;

}  // namespace

void tenon_module::destroy(tenon_module* module) noexcept {
  DeferredDeletes& deletes = deferred_deletes;
  if (deletes.draining) {
    module->next_waiting_ = deletes.waiting;
    deletes.waiting = module;
    return;
  }
  deletes.draining = true;
  while (module != nullptr) {
    const tenon_module_descriptor& descriptor = module->type->descriptor;
    if (module->state != nullptr && descriptor.destroy != nullptr)
      descriptor.destroy(descriptor.self, module->state);
    for (const Child& child : module->children) {
      if (child.module == nullptr) continue;
      child.module->registrations.fetch_sub(1, std::memory_order_relaxed);
      child.module->release();
    }
    delete module;
    module = std::exchange(deletes.waiting,
                           deletes.waiting == nullptr ? nullptr : deletes.waiting->next_waiting_);
  }
  deletes.draining = false;
}

namespace tenon::core {

namespace {

std::string type_name(const tenon_module& module) {
  return std::string(module.type->schema.short_name());
}

void add_name(tenon_module& module, const char* kind, const std::string& name,
              tenon_module::Place place) {
  if (name.empty()) throw Error(TENON_ERROR_VALUE, "{} name can't be empty string \"\"", kind);
  if (name.find('.') != std::string::npos) {
    throw Error(TENON_ERROR_VALUE, "{} name can't contain \".\", got: {}", kind, quote(name));
  }
  if (!module.names.emplace(name, place).second) {
    throw Error(TENON_ERROR_VALUE, "{} {} is already defined in {}", kind, quote(name),
                type_name(module));
  }
}

std::string attribute_text(const tenon_value& value) {
  // What is long stays out of a line.
  if (value.tag == TENON_VALUE_JSON || value.tag == TENON_VALUE_MODULE) return "...";
  return value_text(value, [](const Tensor*) { return std::string("..."); });
}

// A module of a walk that is under way, and where its children's names begin.
struct Step {
  tenon_module* module;
  size_t next_child;
  size_t name_length;
};

}  // namespace

// ---- the table ----

std::optional<DescriptorFault> check_module(const tenon_module_descriptor& module) {
  const bool computes = module.forward != nullptr || module.tenon_function != nullptr;
  if (module.create != nullptr && computes) return std::nullopt;
  return DescriptorFault{"has no create or no forward", "set both"};
}

std::vector<std::unique_ptr<ModuleType>> ModuleTable::prepare(
    const std::string& provider,
    std::span<const tenon_module_descriptor* const> descriptors) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::unique_ptr<ModuleType>> types;
  for (const tenon_module_descriptor* descriptor : descriptors) {
    auto type = std::make_unique<ModuleType>();
    type->descriptor = copy_growable(*descriptor);
    type->schema = parse_schema(type->descriptor.schema);
    type->provider = provider;
    if (const auto fault = check_module(type->descriptor)) {
      throw Error(TENON_ERROR_VALUE, "module '{}' of plugin '{}' {}; {}", type->schema.name,
                  provider, fault->what, fault->remedy);
    }
    if (const auto present = types_.find(type->schema.name); present != types_.end()) {
      throw Error(TENON_ERROR_PLUGIN, "module '{}' has two providers: '{}' and '{}'",
                  type->schema.name, present->second->provider, provider);
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
  throw Error(TENON_ERROR_VALUE, "no module type is named '{}'", name);
}

// ---- attributes ----

OwnedValues::~OwnedValues() {
  for (tenon_value& value : values_) release_value(value);
}

void OwnedValues::add(const tenon_value& given) {
  values_.reserve(values_.size() + 1);
  tenon_value value = given;
  switch (given.tag) {
    case TENON_VALUE_JSON:
      value.as.json = Json(given.as.json).give();
      break;
    case TENON_VALUE_MODULE:
      value.as.module->retain();
      break;
    default:
      value = copy_value(given);
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

std::string located(const tenon_json& node, const std::string& message) {
  const std::string place = place_of(node);
  return (place.empty() ? "" : format_text("{}: ", place)) + message;
}

// Attribute values as arrays of numbers need memory for the time of the call.
struct AttributeScratch {
  std::vector<std::unique_ptr<std::vector<int64_t>>> integers;
  std::vector<std::unique_ptr<std::vector<double>>> numbers;

  tenon_value convert(const tenon_json& node) {
    if (!node.is_array()) return node.value();
    const bool whole = std::all_of(node.children().begin(), node.children().end(),
                                   [](const tenon_json& child) { return child.is_int(); });
    const bool numeric = std::all_of(node.children().begin(), node.children().end(),
                                     [](const tenon_json& child) { return child.is_number(); });
    if (!numeric) return node.value();
    tenon_value value{};
    value.length = static_cast<uint32_t>(node.size());
    if (whole) {
      integers.push_back(std::make_unique<std::vector<int64_t>>());
      for (const tenon_json& child : node.children()) integers.back()->push_back(child.as_int());
      value.tag = TENON_VALUE_INT_LIST;
      value.as.integers = integers.back()->data();
    } else {
      numbers.push_back(std::make_unique<std::vector<double>>());
      for (const tenon_json& child : node.children()) numbers.back()->push_back(child.as_double());
      value.tag = TENON_VALUE_FLOAT_LIST;
      value.as.numbers = numbers.back()->data();
    }
    return value;
  }
};

}  // namespace

namespace {

// One module of a description, without its layers.
struct Described {
  ModuleRef module;
  const tenon_json* layers = nullptr;
  size_t next_layer = 0;
};

Described create_described(const tenon_json& document) {
  if (document.is_string()) {
    return {create_module(ModuleTable::process().require(document.as_string()), {}, {}, {})};
  }
  if (!document.is_object())
    throw Error(TENON_ERROR_CONFIG,
                located(document, "a module is an object with a \"type\", or a type's name"));
  const tenon_json* type_node = document.find("type");
  if (type_node == nullptr || !type_node->is_string())
    throw Error(TENON_ERROR_CONFIG, located(document, "a module needs a \"type\""));
  Described described;
  try {
    const ModuleType& type = ModuleTable::process().require(type_node->as_string());
    AttributeScratch scratch;
    std::vector<tenon_string> keywords;
    std::vector<tenon_value> values;
    const bool own_layers = type.schema.find("layers") >= 0;
    for (const tenon_json& child : document.children()) {
      if (child.key() == "type") continue;
      if (child.key() == "layers" && !own_layers) {
        described.layers = &child;
        continue;
      }
      keywords.push_back({child.key().data(), static_cast<int64_t>(child.key().size())});
      values.push_back(scratch.convert(child));
    }
    described.module = create_module(type, {}, keywords, values);
  } catch (Error& error) {
    error.message = located(document, error.message);
    throw;
  }
  if (described.layers != nullptr && !described.layers->is_array())
    throw Error(TENON_ERROR_CONFIG,
                located(*described.layers, "\"layers\" is an array of modules"));
  return described;
}

}  // namespace

ModuleRef create_module(const tenon_json& document) {
  std::vector<Described> open;
  open.push_back(create_described(document));
  for (;;) {
    Described& last = open.back();
    if (last.layers != nullptr && last.next_layer < last.layers->children().size()) {
      open.push_back(create_described(last.layers->children()[last.next_layer++]));
      continue;
    }
    const ModuleRef made = last.module;
    open.pop_back();
    if (open.empty()) return made;
    Described& parent = open.back();
    register_child(*parent.module, std::to_string(parent.next_layer - 1), made.get());
  }
}

// ---- registration ----

void register_parameter(tenon_module& module, const std::string& name, Tensor* tensor) {
  TensorRef parameter(tensor);
  if (tensor != nullptr) {
    if (!is_leaf(*tensor)) {
      throw Error(
          TENON_ERROR_VALUE,
          "cannot assign a computed tensor as parameter {}: parameters are leaves; use detach()",
          quote(name));
    }
    if (!dtype_floating(tensor->view.dtype)) {
      throw Error(TENON_ERROR_TYPE,
                  "parameter {} of {} is {}: parameters require grad and must be floating point; "
                  "register it as a buffer",
                  quote(name), type_name(module), dtype_text(tensor->view.dtype));
    }
    if (!tensor->requires_grad()) {
      parameter = make_detached(*tensor);
      set_requires_grad(*parameter, true);
    }
  }
  add_name(module, "parameter", name, {tenon_module::Kind::Parameter, module.parameters.size()});
  module.parameters.push_back({name, std::move(parameter)});
}

void register_buffer(tenon_module& module, const std::string& name, Tensor* tensor,
                     bool persistent) {
  add_name(module, "buffer", name, {tenon_module::Kind::Buffer, module.buffers.size()});
  module.buffers.push_back({name, TensorRef(tensor), persistent});
}

namespace {

// A module without a parent, like one that is being made, is below no other module, and one without
// children has none below. So trees are built, from below or from above, without a search.
bool contains(tenon_module& module, tenon_module& part) {
  if (&module == &part) return true;
  if (module.children.empty() || part.registrations.load(std::memory_order_relaxed) == 0)
    return false;
  const std::vector<WalkItem> below =
      walk(module, Walk::Modules, {.recurse = true, .names = false, .duplicates = false});
  return std::any_of(below.begin(), below.end(),
                     [&](const WalkItem& item) { return item.module == &part; });
}

}  // namespace

void register_child(tenon_module& module, const std::string& name, tenon_module* child) {
  if (child != nullptr && contains(*child, module)) {
    throw Error(TENON_ERROR_VALUE, "module {} contains the module that it is registered in",
                quote(name));
  }
  add_name(module, "module", name, {tenon_module::Kind::Child, module.children.size()});
  module.children.push_back({name, child});
  if (child == nullptr) return;
  child->retain();
  child->registrations.fetch_add(1, std::memory_order_relaxed);
}

namespace {

// Null when `module` has no child of that name.
const tenon_module::Child* own_child(const tenon_module& module, std::string_view name) {
  const auto found = module.names.find(name);
  if (found == module.names.end() || found->second.kind != tenon_module::Kind::Child)
    return nullptr;
  return &module.children[found->second.index];
}

const tenon_module::Child& require_child(const tenon_module& module, std::string_view name) {
  if (const tenon_module::Child* child = own_child(module, name)) return *child;
  throw Error(TENON_ERROR_VALUE, "{} has no child module {}", type_name(module), quote(name));
}

}  // namespace

Tensor* find_tensor(tenon_module& module, std::string_view name) {
  tenon_module* owner = &module;
  for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    tenon_module* child = require_child(*owner, name.substr(0, dot)).module;
    if (child == nullptr) break;
    owner = child;
    name.remove_prefix(dot + 1);
  }
  const auto found = owner->names.find(name);
  if (found != owner->names.end() && found->second.kind != tenon_module::Kind::Child) {
    const bool parameter = found->second.kind == tenon_module::Kind::Parameter;
    return (parameter ? owner->parameters : owner->buffers)[found->second.index].tensor.get();
  }
  throw Error(TENON_ERROR_VALUE, "{} has no parameter or buffer {}", type_name(*owner),
              quote(name));
}

tenon_module* find_child(tenon_module& module, std::string_view name) {
  tenon_module* owner = &module;
  for (;;) {
    const size_t dot = name.find('.');
    tenon_module* child = require_child(*owner, name.substr(0, dot)).module;
    if (dot == std::string_view::npos || child == nullptr) return child;
    owner = child;
    name.remove_prefix(dot + 1);
  }
}

void set_training(tenon_module& module, bool training) {
  for (const WalkItem& item : walk(module, Walk::Modules, {.recurse = true, .names = false}))
    item.module->training = training;
}

void call_module(tenon_module& module, std::span<const tenon_value> inputs, tenon_value& result) {
  const tenon_module_descriptor& descriptor = module.type->descriptor;
  if (descriptor.forward == nullptr) {
    throw Error(TENON_ERROR_TYPE,
                "{} is a mode: enter it by a ModeScope; it has no forward to be called",
                module.type->schema.name);
  }
  const auto compute = [&](std::span<const tenon_value> arguments) {
    tenon_error* error = nullptr;
    const tenon_status status =
        descriptor.forward(descriptor.self, module.state, &module, arguments.data(),
                           static_cast<int64_t>(arguments.size()), &result, &error);
    if (status != TENON_OK) throw_status(status, error);
  };
  const auto forward = [&] {
    if (may_have_hooks(module.hooks)) [[unlikely]]
      call_with_hooks(module, {}, inputs, {&result, 1}, compute);
    else
      compute(inputs);
  };
  // Modules call those inside of them, to any depth.
  if (stack_is_low()) [[unlikely]] {
    grow_stack(forward);
  } else {
    forward();
  }
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
                "{} cannot be entered as a mode: its type defines no tenon_function",
                module.type->schema.name);
  }
  ModeEntry* mode = enter_mode(module.type->schema.name, ask_module, &module, below);
  module.retain();
  mode->release_self = [](void* self) { static_cast<tenon_module*>(self)->release(); };
  return mode;
}

void visit_modules(tenon_module& root, WalkOptions options,
                   const std::function<void(tenon_module&, const std::string& prefix)>& enter) {
  std::unordered_set<const tenon_module*> seen{&root};
  std::string prefix;
  enter(root, prefix);
  std::vector<Step> steps;
  if (options.recurse) steps.push_back({&root, 0, 0});
  while (!steps.empty()) {
    Step& step = steps.back();
    if (step.next_child == step.module->children.size()) {
      steps.pop_back();
      continue;
    }
    const tenon_module::Child& child = step.module->children[step.next_child++];
    if (child.module == nullptr) continue;
    if (!options.duplicates && !seen.insert(child.module).second) continue;
    if (options.names) {
      prefix.resize(step.name_length);
      (prefix += child.name) += '.';
    }
    enter(*child.module, prefix);
    steps.push_back({child.module, 0, prefix.size()});
  }
}

std::vector<WalkItem> walk(tenon_module& module, Walk what, WalkOptions options) {
  std::vector<WalkItem> items;
  std::unordered_set<const void*> seen;
  const auto add = [&](const void* identity, std::string name, Tensor* tensor,
                       tenon_module* found) {
    if (options.duplicates || seen.insert(identity).second)
      items.push_back({std::move(name), tensor, found});
  };
  if (what == Walk::Children && !options.recurse) {
    for (const tenon_module::Child& child : module.children) {
      if (child.module != nullptr)
        add(child.module, options.names ? child.name : std::string(), nullptr, child.module);
    }
    return items;
  }
  visit_modules(module, options, [&](tenon_module& entered, const std::string& prefix) {
    if (what == Walk::Modules || (what == Walk::Children && &entered != &module)) {
      add(&entered, prefix.substr(0, prefix.empty() ? 0 : prefix.size() - 1), nullptr, &entered);
      return;
    }
    if (what == Walk::Children) return;
    for (const tenon_module::Entry& entry :
         what == Walk::Parameters ? entered.parameters : entered.buffers) {
      if (!entry.tensor) continue;
      add(entry.tensor.get(), options.names ? prefix + entry.name : std::string(),
          entry.tensor.get(), nullptr);
    }
  });
  return items;
}

namespace {

// A copy; one of another type is asked to convert itself.
TensorRef converted(Tensor& tensor, tenon_dtype dtype) {
  if (!tensor.typed()) return contiguous_copy(tensor, dtype);
  const GradModeGuard no_grad(false);
  return core_ops::to(tensor, dtype);
}

}  // namespace

void convert(tenon_module& module, tenon_dtype dtype) {
  dtype_check(dtype);
  if (!dtype_floating(dtype)) {
    throw Error(TENON_ERROR_TYPE, "modules are converted to floating point dtypes only, not {}",
                dtype_text(dtype));
  }
  struct Change {
    Tensor* tensor;
    TensorRef value, grad;
  };
  std::vector<Change> changes;
  for (const Walk what : {Walk::Parameters, Walk::Buffers}) {
    for (const WalkItem& item : walk(module, what, {.recurse = true, .names = false})) {
      Tensor& tensor = *item.tensor;
      if (!dtype_floating(tensor.view.dtype) || tensor.view.dtype == dtype) continue;
      const TensorRef grad = grad_of(tensor);
      changes.push_back(
          {&tensor, converted(tensor, dtype), grad ? converted(*grad, dtype) : TensorRef()});
    }
  }
  for (Change& change : changes) replace_value(*change.tensor, *change.value, change.grad.get());
}

namespace {

// What the parentheses behind a type hold.
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
    text += format_text("{}(", type_name(opened));
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
      steps.push_back({&opened, 0, 0});
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
