// Modules: parameters, buffers and children by name around a plugin's forward.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/nn/hooks.hpp"
#include "core/nn/module_type.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/value.h"

namespace tenon::core {

// Owned copies of attribute values.
class OwnedValues {
 public:
  OwnedValues() = default;
  OwnedValues(const OwnedValues&) = delete;
  OwnedValues& operator=(const OwnedValues&) = delete;
  ~OwnedValues();
  // Returns the copy.
  tenon_value& add(const tenon_value& value);
  const tenon_value* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  std::vector<tenon_value> values_;
};

// Calls visit(tenon_module*&) with every module of an owned value.
template <class Visit>
void for_each_module(tenon_value& value, Visit&& visit) {
  if (value.tag == TENON_VALUE_MODULE) visit(value.as.module);
  for (uint32_t i = 0; value.tag == TENON_VALUE_MODULE_LIST && i < value.length; ++i)
    visit(const_cast<tenon_module**>(value.as.modules)[i]);
  for (uint32_t i = 0; value.tag == TENON_VALUE_MODULE_DICT && i < value.length; ++i)
    visit(const_cast<tenon_named_module*>(value.as.named_modules)[i].module);
}

using ModuleRef = IntrusivePtr<tenon_module>;

// An owned list of them; null entries stay.
tenon_value make_module_list(std::span<tenon_module* const> modules);

}  // namespace tenon::core

struct tenon_module {
  struct Entry {
    std::string name;
    tenon::core::TensorRef tensor;  // null: a known name without a value
    bool persistent = true;
    tenon_tensor** location = nullptr;  // see bind_member
  };
  struct Child {
    std::string name;
    tenon_module* module = nullptr;  // owned; null: a known name without a value
    tenon_module** location = nullptr;
  };
  // The kind and index of a name.
  enum class Kind : uint8_t { Parameter, Buffer, Child };
  struct Place {
    Kind kind;
    size_t index;
  };

  explicit tenon_module(const tenon::core::ModuleType& module_type) : type(&module_type) {}

  const tenon::core::ModuleType* type;
  const tenon::core::CodeLease code{type->code, tenon::core::Holder::Module};
  std::atomic<int32_t> references{1};
  tenon::core::OwnedValues attributes;
  std::vector<Entry> parameters;
  std::vector<Entry> buffers;
  std::vector<Child> children;
  std::map<std::string, Place, std::less<>> names;
  // Forward schema of an instance whose type has none.
  std::unique_ptr<tenon::core::Schema> own_forward;
  std::string place;                      // in the document that describes it
  std::atomic<int32_t> registrations{0};  // as a child of others
  tenon::core::HooksPointer<tenon::core::ModuleHooks> hooks;
  void* state = nullptr;
  bool training = true;

  void retain() noexcept { references.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(this);
  }

 private:
  ~tenon_module() = default;
  static void destroy(tenon_module* module) noexcept;
  tenon_module* next_waiting_ = nullptr;  // to be destroyed
};

namespace tenon::core {

// Number of changes to the members, hooks and training modes of all modules.
inline constinit std::atomic<uint64_t> modules_generation{0};
// Counts a change that has been made.
inline void note_module_change() noexcept {
  modules_generation.fetch_add(1, std::memory_order_release);
}

// Names must be non-empty, without dots, and new among parameters, buffers and children.
// A tensor that does not require grad is left as it is: the parameter is another tensor on its
// memory, as nn.Parameter makes one. One that requires grad is a parameter already, and shared.
void register_parameter(tenon_module& module, const std::string& name, Tensor* tensor);
void register_buffer(tenon_module& module, const std::string& name, Tensor* tensor,
                     bool persistent);
// Throws ValueError where the child contains the module.
void register_child(tenon_module& module, const std::string& name, tenon_module* child);

// Gives a registered name another value: none, a tensor, or a module, as its kind asks. `flags`:
// TENON_ASSIGN_ bits. Without any only a leaf that requires grad takes a parameter's place.
void assign_member(tenon_module& module, std::string_view name, const tenon_value& value,
                   uint32_t flags);

// From now on the handle of the name's value is kept in *location as another reference, which
// the location's owner releases in the end. One location for each name.
void bind_member(tenon_module& module, std::string_view name, void** location);
// The module writes to the location no more.
void unbind_member(tenon_module& module, std::string_view name) noexcept;

// By dotted name; throws ValueError when there is no such name. Null when it has no value.
Tensor* find_tensor(tenon_module& module, std::string_view name);
tenon_module* find_child(tenon_module& module, std::string_view name);

}  // namespace tenon::core
