// Modules: a tree of named parameters, buffers and children around a plugin's forward.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/fork.hpp"
#include "core/base/json.hpp"
#include "core/dispatch/op_check.hpp"
#include "core/dispatch/schema.hpp"
#include "core/nn/hooks.hpp"
#include "core/tensor/file_header.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/module.h"

namespace tenon::core {

// A module type of a plugin. Immutable, never freed.
struct ModuleType {
  tenon_module_descriptor descriptor{};
  Schema schema;
  std::string provider;
};

// The first fault of a descriptor of this SDK's size. A mode has a tenon_function and no forward.
std::optional<DescriptorFault> check_module(const tenon_module_descriptor& module);

// The registered module types.
class ModuleTable {
 public:
  // Prepares descriptors without registering: throws for bad schemas and names that are taken.
  std::vector<std::unique_ptr<ModuleType>> prepare(
      const std::string& provider,
      std::span<const tenon_module_descriptor* const> descriptors) const;
  void commit(std::vector<std::unique_ptr<ModuleType>> types);
  // Null when there is none.
  const ModuleType* find(std::string_view name) const;
  // Loads the plugin that declares the type when need be; throws ValueError when none does.
  const ModuleType& require(std::string_view name) const;
  void set_finder(std::function<void(std::string_view name)> finder) {
    finder_ = std::move(finder);
  }

  // The process's table; defined by runtime/assembly.cpp.
  static ModuleTable& process();

 private:
  mutable std::mutex mutex_;
  const HeldAcrossFork held_{mutex_};
  std::unordered_map<std::string, std::unique_ptr<ModuleType>> types_;
  std::function<void(std::string_view)> finder_;
};

// Owned copies of attribute values.
class OwnedValues {
 public:
  OwnedValues() = default;
  OwnedValues(const OwnedValues&) = delete;
  OwnedValues& operator=(const OwnedValues&) = delete;
  ~OwnedValues();
  void add(const tenon_value& value);
  const tenon_value* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  std::vector<tenon_value> values_;
};

using ModuleRef = IntrusivePtr<tenon_module>;

// What a state file and a model disagree in.
struct LoadReport {
  std::vector<std::string> missing, unexpected, mismatched;
};

enum class Walk : int32_t { Parameters = 0, Buffers = 1, Children = 2, Modules = 3 };

}  // namespace tenon::core

struct tenon_module {
  struct Entry {
    std::string name;
    tenon::core::TensorRef tensor;
    bool persistent = true;
  };
  struct Child {
    std::string name;
    tenon_module* module = nullptr;  // owned; null: a known name without a value
  };
  // Where a name is.
  enum class Kind : uint8_t { Parameter, Buffer, Child };
  struct Place {
    Kind kind;
    size_t index;
  };

  explicit tenon_module(const tenon::core::ModuleType& module_type) : type(&module_type) {}

  const tenon::core::ModuleType* type;
  std::atomic<int32_t> references{1};
  tenon::core::OwnedValues attributes;
  std::vector<Entry> parameters;
  std::vector<Entry> buffers;
  std::vector<Child> children;
  std::map<std::string, Place, std::less<>> names;
  std::atomic<int32_t> registrations{0};  // as a child of others
  tenon::core::ModuleHooksPointer hooks;
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

// From attributes by position and name, bound like a call's arguments. Throws TypeError in Python's
// words.
ModuleRef create_module(const ModuleType& type, std::span<const tenon_value> positional,
                        std::span<const tenon_string> keywords,
                        std::span<const tenon_value> keyword_values);
// From {"type": "Linear", attribute: value, ...}; "layers" of a container become children "0", "1",
// ... Errors name the place in the document.
ModuleRef create_module(const tenon_json& document);

// Names must be non-empty, without dots, and new among parameters, buffers and children.
// A tensor that does not require grad is left as it is: the parameter is another tensor on its
// memory, as nn.Parameter makes one. One that requires grad is a parameter already, and shared.
void register_parameter(tenon_module& module, const std::string& name, Tensor* tensor);
void register_buffer(tenon_module& module, const std::string& name, Tensor* tensor,
                     bool persistent);
void register_child(tenon_module& module, const std::string& name, tenon_module* child);

// By dotted name; throws ValueError when there is no such name. Null when it has no value.
Tensor* find_tensor(tenon_module& module, std::string_view name);
tenon_module* find_child(tenon_module& module, std::string_view name);

void set_training(tenon_module& module, bool training);
void call_module(tenon_module& module, std::span<const tenon_value> inputs, tenon_value& result);
// Enters it as a mode; it is kept until the mode is left. Throws TypeError when it is none.
struct ModeEntry;
ModeEntry* enter_module(tenon_module& module, bool below);

struct WalkItem {
  std::string name;
  Tensor* tensor = nullptr;
  tenon_module* module = nullptr;
};
struct WalkOptions {
  bool recurse = true;
  bool names = true;  // fill them in
  bool duplicates =
      false;  // under each of its names; else a tensor or module comes once, first name
};
// Calls `enter` with the module and, where `recurse` is set, all below it, in registration order,
// parents first; `prefix` is what its members' names begin with: "", "layers.0.".
void visit_modules(tenon_module& root, WalkOptions options,
                   const std::function<void(tenon_module&, const std::string& prefix)>& enter);
// In registration order, parents first; names are dotted below. Names without a value are left out.
std::vector<WalkItem> walk(tenon_module& module, Walk what, WalkOptions options);

// Converts floating parameters and buffers, and gradients with them, where they are: handles of
// them stay good. All of them or, when it throws, none.
void convert(tenon_module& module, tenon_dtype dtype);
// Linear(in_features=1, out_features=1, bias=True); children indented by two spaces.
std::string module_text(tenon_module& module);

void save_module(tenon_module& module, const std::string& path, FileMetadata metadata = {});
// Strict: any missing or unexpected key is an error; a size that differs always is. Nothing is
// loaded then.
void load_module(tenon_module& module, const std::string& path, bool strict);

}  // namespace tenon::core
