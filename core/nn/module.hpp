// Modules: parameters, buffers and children by name around a plugin's forward; how they are made,
// called and walked.
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
#include "tenon/abi/module.h"
#include "tenon/abi/value.h"

struct tenon_json;

namespace tenon::core {

inline constinit std::atomic<uint32_t> module_counter{0};

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
  // Nodes that its forward records keep it.
  const uint32_t number = 1 + tenon::core::module_counter.fetch_add(1, std::memory_order_relaxed);
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

// ---- creation ----

// From attributes by position and name, bound like a call's arguments. Throws TypeError in Python's
// words.
ModuleRef create_module(const ModuleType& type, std::span<const tenon_value> positional,
                        std::span<const tenon_string> keywords,
                        std::span<const tenon_value> keyword_values);

// From {"type": "Linear", attribute: value, ...}, or the name of a type. An attribute that is a
// module is such a document itself; `settings` may be beside the attributes, those of the creation
// that runs on this thread where it is null. Throws a ConfigError that names every fault with its
// place.
ModuleRef create_module(const tenon_json& document, const tenon_module_settings* settings,
                        const ModuleTable& types = ModuleTable::process());

// A copy with its own tensors: what is shared inside of the tree stays shared in the copy. Hooks
// run for the copy as well, which keeps them when the original loses them. Gradients are not copied.
// Throws RuntimeError that names a type which has a state and cannot copy it.
ModuleRef clone_module(tenon_module& module);

// ---- calls ----

struct ModeEntry;

// The forward schema of its type, or its own. Throws TypeError for a mode, and for an instance that
// has none.
const Schema& forward_schema(const tenon_module& module);
// Gives the instance its own forward schema. Throws TypeError when its type has one.
void set_forward_schema(tenon_module& module, std::string_view text);

// Binds the arguments to the forward schema as an op's are bound, and runs forward. `results` has
// room for kMaxResults; one is filled for each result of the schema. Throws TypeError before forward
// runs when these are not `result_count`; -1: any number.
void call_module(tenon_module& module, std::span<const tenon_value> positional,
                 std::span<const tenon_string> keywords,
                 std::span<const tenon_value> keyword_values, tenon_value* results,
                 int64_t result_count = -1);
// Enters it as a mode; it is kept until the mode is left. Throws TypeError when it is none.
ModeEntry* enter_module(tenon_module& module, bool below);

// ---- walks ----

enum class Walk : int32_t { Parameters = 0, Buffers = 1, Children = 2, Modules = 3, State = 4 };

struct WalkItem {
  std::string name;
  Tensor* tensor = nullptr;
  tenon_module* module = nullptr;
};
struct WalkOptions {
  bool recurse = true;
  bool names = true;  // fill them in
  bool duplicates =
      false;            // under each of its names; else a tensor or module comes once, first name
  bool absent = false;  // of a module's own children: names without a value too
};
// In registration order, parents first; names are dotted below. Names without a value are omitted
// unless `absent` is set. A state is parameters and persistent buffers, module by module.
std::vector<WalkItem> walk(tenon_module& module, Walk what, WalkOptions options);

void set_training(tenon_module& module, bool training);
// Converts floating parameters and buffers, and gradients with them, where they are: handles of
// them stay good. All of them or, when it throws, none.
void convert(tenon_module& module, tenon_dtype dtype);

}  // namespace tenon::core
