// Module types of plugins, and the table of them.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/fork.hpp"
#include "core/base/plugin_code.hpp"
#include "core/dispatch/schema/schema.hpp"
#include "core/dispatch/table/op.hpp"
#include "tenon/abi/module.h"

namespace tenon::core {

// Immutable; freed when its plugin is unloaded and no module of it exists.
struct ModuleType {
  tenon_module_descriptor descriptor{};
  Schema schema;                  // its attributes
  std::optional<Schema> forward;  // none: a mode, or each instance has its own
  std::string provider;
  PluginCode* code = nullptr;  // code of its functions; null: the program itself

  std::string short_name() const { return std::string(schema.short_name()); }
};

// The schema of a forward of modules of a type; messages call it "Linear.forward".
Schema parse_forward_schema(std::string_view text, const ModuleType& type);

// The first fault of a descriptor of this SDK's size. A mode has a tenon_function and may have no
// forward.
std::optional<DescriptorFault> check_module(const tenon_module_descriptor& module);

class ModuleTable {
 public:
  // Prepares descriptors without registering: throws for bad schemas and names that are taken.
  std::vector<std::unique_ptr<ModuleType>> prepare(
      const std::string& provider, std::span<const tenon_module_descriptor* const> descriptors,
      PluginCode* code = nullptr) const;
  // Takes the place of types of the same names.
  void commit(std::vector<std::unique_ptr<ModuleType>> types);
  // Null when there is none.
  const ModuleType* find(std::string_view name) const;
  // Loads the plugin that declares the type when need be; throws ValueError when none does.
  const ModuleType& require(std::string_view name) const;
  // Types of this code are found no more; modules of them continue. Until `forget` they are kept.
  void withdraw(const PluginCode& code);
  void forget(const PluginCode& code);
  void set_finder(std::function<void(std::string_view name)> finder) {
    finder_ = std::move(finder);
  }

  // The process's table; defined by runtime/assembly.cpp.
  static ModuleTable& process();

 private:
  mutable std::mutex mutex_;
  const HeldAcrossFork held_{mutex_};
  std::unordered_map<std::string, std::unique_ptr<ModuleType>> types_;
  std::vector<std::unique_ptr<ModuleType>> withdrawn_;
  std::function<void(std::string_view)> finder_;
};

}  // namespace tenon::core
