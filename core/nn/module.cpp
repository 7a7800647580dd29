// A module's life, and its members: registration, assignment, look-up.
#include "core/nn/module.hpp"

#include <algorithm>
#include <utility>

#include "core/autograd/engine/grad.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/base/allocator.hpp"
#include "core/base/deferred_deletes.hpp"
#include "core/base/error.hpp"
#include "core/base/flags.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/binding/arguments.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/tensor/dtype.hpp"

namespace {

constinit thread_local tenon::core::DeferredDeletes<tenon_module> deferred_deletes;

}  // namespace

void tenon_module::destroy(tenon_module* module) noexcept {
  deferred_deletes.destroy(
      module, [](tenon_module& dead) -> tenon_module*& { return dead.next_waiting_; },
      [](tenon_module* dead) {
        const tenon_module_descriptor& descriptor = dead->type->descriptor;
        if (dead->state != nullptr && descriptor.destroy != nullptr)
          descriptor.destroy(descriptor.self, dead->state);
        for (const Child& child : dead->children) {
          if (child.module == nullptr) continue;
          child.module->registrations.fetch_sub(1, std::memory_order_relaxed);
          child.module->release();
        }
        delete dead;
      });
}

namespace tenon::core {

namespace {

// Kinds of members as messages name them, in the order of tenon_module::Kind.
constexpr struct {
  const char* name;
  const char* assigned;
  const char* expected;
} kKinds[] = {{"parameter", "parameter", "Parameter"},
              {"buffer", "buffer", "Tensor"},
              {"module", "child module", "Module"}};

void add_name(tenon_module& module, const std::string& name, tenon_module::Place place) {
  const char* kind = kKinds[static_cast<size_t>(place.kind)].name;
  if (name.empty()) throw Error(TENON_ERROR_VALUE, "{} name can't be empty string \"\"", kind);
  if (name.find('.') != std::string::npos) {
    throw Error(TENON_ERROR_VALUE, "{} name can't contain \".\", got: {}", kind, quote(name));
  }
  if (!module.names.emplace(name, place).second) {
    throw Error(TENON_ERROR_VALUE, "{} {} is already defined in {}", kind, quote(name),
                module.type->short_name());
  }
}

tenon_module::Place require_place(const tenon_module& module, std::string_view name) {
  const auto found = module.names.find(name);
  if (found == module.names.end()) {
    throw Error(TENON_ERROR_VALUE, "{} has no parameter, buffer or child module {}",
                module.type->short_name(), quote(name));
  }
  return found->second;
}

tenon_module::Entry& entry_at(tenon_module& module, tenon_module::Place place) {
  return place.kind == tenon_module::Kind::Parameter ? module.parameters[place.index]
                                                     : module.buffers[place.index];
}

// Writes a location, and releases its old value.
template <class Handle>
void write(Handle** location, Handle* handle) {
  if (location == nullptr) return;
  if (handle != nullptr) handle->retain();
  Handle* const before = std::exchange(*location, handle);
  if (before != nullptr) before->release();
}

// The tensor as a parameter of that name.
TensorRef as_parameter(const tenon_module& module, std::string_view name, Tensor* tensor) {
  if (tensor == nullptr) return {};
  if (!is_leaf(*tensor)) {
    throw Error(TENON_ERROR_VALUE,
                "cannot assign a computed tensor as parameter {}: parameters are leaves; use "
                "detach()",
                quote(name));
  }
  if (!dtype_differentiable(tensor->view.dtype)) {
    throw Error(
        TENON_ERROR_TYPE,
        "parameter {} of {} is {}: parameters require grad and must be floating point or complex; "
        "register it as a buffer",
        quote(name), module.type->short_name(), dtype_text(tensor->view.dtype));
  }
  if (tensor->requires_grad()) return TensorRef(tensor);
  TensorRef parameter = make_detached(*tensor);
  set_requires_grad(*parameter, true);
  return parameter;
}

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

void refuse_cycle(tenon_module& module, std::string_view name, tenon_module* child) {
  if (child == nullptr || !contains(*child, module)) return;
  throw Error(TENON_ERROR_VALUE, "module {} contains the module that it is registered in",
              quote(name));
}

}  // namespace

tenon_value make_module_list(std::span<tenon_module* const> modules) {
  const auto count = static_cast<int64_t>(modules.size());
  auto** list = static_cast<tenon_module**>(
      allocate(std::max<int64_t>(count, 1) * static_cast<int64_t>(sizeof(tenon_module*))));
  for (size_t i = 0; i < modules.size(); ++i) {
    if (modules[i] != nullptr) modules[i]->retain();
    list[i] = modules[i];
  }
  tenon_value value{};
  value.tag = TENON_VALUE_MODULE_LIST;
  value.length = static_cast<uint32_t>(count);
  value.as.modules = list;
  return value;
}

OwnedValues::~OwnedValues() {
  for (tenon_value& value : values_) release_value(value);
}

namespace {

// Copies attributes that dispatch cannot copy: documents and modules.
tenon_value copy_attribute(const tenon_value& given) {
  const auto length = static_cast<int64_t>(given.length);
  tenon_value value = given;
  switch (given.tag) {
    case TENON_VALUE_JSON:
      value.as.json = Json(given.as.json).give();
      return value;
    case TENON_VALUE_MODULE:
      value.as.module->retain();
      return value;
    case TENON_VALUE_MODULE_LIST:
      return make_module_list({given.as.modules, given.length});
    case TENON_VALUE_MODULE_DICT: {
      auto* entries = static_cast<tenon_named_module*>(allocate(
          std::max<int64_t>(length, 1) * static_cast<int64_t>(sizeof(tenon_named_module))));
      for (int64_t i = 0; i < length; ++i) {
        const tenon_named_module& entry = given.as.named_modules[i];
        const tenon_value name =
            make_string({entry.name.data, static_cast<size_t>(entry.name.length)});
        entries[i] = {{name.as.string, entry.name.length}, entry.module};
        entry.module->retain();
      }
      value.as.named_modules = entries;
      return value;
    }
    default:
      return copy_value(given);
  }
}

}  // namespace

tenon_value& OwnedValues::add(const tenon_value& given) {
  values_.reserve(values_.size() + 1);
  return values_.emplace_back(copy_attribute(given));
}

// ---- registration ----

void register_parameter(tenon_module& module, const std::string& name, Tensor* tensor) {
  TensorRef parameter = as_parameter(module, name, tensor);
  add_name(module, name, {tenon_module::Kind::Parameter, module.parameters.size()});
  module.parameters.push_back({name, std::move(parameter)});
}

void register_buffer(tenon_module& module, const std::string& name, Tensor* tensor,
                     bool persistent) {
  add_name(module, name, {tenon_module::Kind::Buffer, module.buffers.size()});
  module.buffers.push_back({name, TensorRef(tensor), persistent});
}

void register_child(tenon_module& module, const std::string& name, tenon_module* child) {
  refuse_cycle(module, name, child);
  add_name(module, name, {tenon_module::Kind::Child, module.children.size()});
  module.children.push_back({name, child});
  if (child == nullptr) return;
  child->retain();
  child->registrations.fetch_add(1, std::memory_order_relaxed);
}

// ---- other values ----

namespace {

[[noreturn]] void refuse_value(tenon_module::Kind kind, std::string_view name,
                               const tenon_value& value) {
  const auto& texts = kKinds[static_cast<size_t>(kind)];
  throw Error(TENON_ERROR_TYPE, "cannot assign '{}' as {} '{}' ({} or None expected)",
              value_type_text(value), texts.assigned, name, texts.expected);
}

void assign_child(tenon_module& module, tenon_module::Child& child, tenon_module* value) {
  refuse_cycle(module, child.name, value);
  if (value != nullptr) {
    value->retain();
    value->registrations.fetch_add(1, std::memory_order_relaxed);
  }
  tenon_module* const before = std::exchange(child.module, value);
  write(child.location, value);
  if (before == nullptr) return;
  before->registrations.fetch_sub(1, std::memory_order_relaxed);
  before->release();
}

}  // namespace

void assign_member(tenon_module& module, std::string_view name, const tenon_value& value,
                   uint32_t flags) {
  require_flags("modules.assign", flags, TENON_ASSIGN_MAKE_PARAMETER | TENON_ASSIGN_ANY_TENSOR);
  const tenon_module::Place place = require_place(module, name);
  const bool child = place.kind == tenon_module::Kind::Child;
  const bool none = value.tag == TENON_VALUE_NONE;
  if (!none && value.tag != (child ? TENON_VALUE_MODULE : TENON_VALUE_TENSOR))
    refuse_value(place.kind, name, value);
  if (child) {
    assign_child(module, module.children[place.index], none ? nullptr : value.as.module);
    return;
  }
  Tensor* const tensor = none ? nullptr : value.as.tensor;
  TensorRef kept(tensor);
  if (place.kind == tenon_module::Kind::Parameter && (flags & TENON_ASSIGN_ANY_TENSOR) == 0) {
    if (tensor != nullptr && (flags & TENON_ASSIGN_MAKE_PARAMETER) == 0 &&
        !(tensor->requires_grad() && is_leaf(*tensor)))
      refuse_value(place.kind, name, value);
    kept = as_parameter(module, name, tensor);
  }
  tenon_module::Entry& entry = entry_at(module, place);
  entry.tensor = std::move(kept);
  write(entry.location, entry.tensor.get());
}

void bind_member(tenon_module& module, std::string_view name, void** location) {
  const tenon_module::Place place = require_place(module, name);
  if (place.kind == tenon_module::Kind::Child) {
    tenon_module::Child& child = module.children[place.index];
    child.location = reinterpret_cast<tenon_module**>(location);
    write(child.location, child.module);
    return;
  }
  tenon_module::Entry& entry = entry_at(module, place);
  entry.location = reinterpret_cast<tenon_tensor**>(location);
  write(entry.location, entry.tensor.get());
}

void unbind_member(tenon_module& module, std::string_view name) noexcept {
  const auto found = module.names.find(name);
  if (found == module.names.end()) return;
  if (found->second.kind == tenon_module::Kind::Child)
    module.children[found->second.index].location = nullptr;
  else
    entry_at(module, found->second).location = nullptr;
}

// ---- look-up ----

namespace {

const tenon_module::Child& require_child(const tenon_module& module, std::string_view name) {
  const auto found = module.names.find(name);
  if (found != module.names.end() && found->second.kind == tenon_module::Kind::Child)
    return module.children[found->second.index];
  throw Error(TENON_ERROR_VALUE, "{} has no child module {}", module.type->short_name(),
              quote(name));
}

// The module below that has the dotted name's last part, which is left of it. Stops at a child
// without a value.
const tenon_module& owner_of(const tenon_module& module, std::string_view& name) {
  const tenon_module* owner = &module;
  for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    const tenon_module* child = require_child(*owner, name.substr(0, dot)).module;
    if (child == nullptr) break;
    owner = child;
    name.remove_prefix(dot + 1);
  }
  return *owner;
}

}  // namespace

Tensor* find_tensor(tenon_module& module, std::string_view name) {
  const tenon_module& owner = owner_of(module, name);
  const auto found = owner.names.find(name);
  if (found != owner.names.end() && found->second.kind != tenon_module::Kind::Child) {
    const bool parameter = found->second.kind == tenon_module::Kind::Parameter;
    return (parameter ? owner.parameters : owner.buffers)[found->second.index].tensor.get();
  }
  throw Error(TENON_ERROR_VALUE, "{} has no parameter or buffer {}", owner.type->short_name(),
              quote(name));
}

tenon_module* find_child(tenon_module& module, std::string_view name) {
  const tenon_module& owner = owner_of(module, name);
  // Below a child without a value there is nothing.
  return require_child(owner, name.substr(0, name.find('.'))).module;
}

}  // namespace tenon::core
