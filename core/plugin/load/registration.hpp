// Items that a load registers, and the tables that take them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/plugin_code.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/plugin/resolve/resolver.hpp"
#include "tenon/abi/plugin.h"

namespace tenon::core {

// The part of a plugin to register, and all that the tables have to know to take it. The descriptors
// were checked and live as long as their code.
struct ResolvedLoad {
  std::string provider;                  // the plugin's id
  PluginCode* code = nullptr;            // code of the functions
  const PluginCode* replaced = nullptr;  // the code of the same plugin that this takes the place of
  std::vector<const tenon_op_descriptor*> ops;
  std::vector<const tenon_module_descriptor*> modules;
  std::vector<const tenon_type_descriptor*> types;
  std::vector<const tenon_override_descriptor*> overrides;
  std::vector<const tenon_service_descriptor*> services{};
  // For ops that other plugins have registered: those plugins and this one, by id, best first.
  std::map<std::string, std::vector<std::string>, std::less<>> ranked{};

  // Ops of the overrides, by what plugins declare of them, and every override that a plugin declares:
  // they may not be registered yet.
  std::map<std::string, TypeTable::OpSource, std::less<>> declared_ops{};
  std::set<std::string, std::less<>> declared_overrides{};
  bool strict = false;  // warnings about overrides are errors
  bool glue = false;    // may override other plugins' ops for other plugins' types

  bool empty() const {
    return ops.empty() && modules.empty() && types.empty() && overrides.empty() && services.empty();
  }
};

// The destination of registrations: the tables, behind an interface because plugins come before
// them.
class Registrar {
 public:
  virtual ~Registrar() = default;
  // All or nothing: throws without having changed anything. Called from one thread at a time for
  // each plugin, never with a lock of the manager held.
  virtual void commit(const ResolvedLoad& load) = 0;
  // Applies a policy's settings to a type that is registered, or will be. Under the same terms.
  virtual void configure(const std::string& type, const TypeSettings& settings) = 0;
  // Preferences of all policies for the provider that some calls of an op ask first. Under the same
  // terms.
  using Preferences = std::map<std::string, std::vector<ProviderPreference>, std::less<>>;
  virtual void set_preferences(Preferences preferences) = 0;

  // Nothing that begins from now on uses this code. What running calls may still use is freed with the
  // result and by `forget`, for the caller to do when they have ended.
  virtual std::shared_ptr<const void> withdraw(const PluginCode& code) = 0;
  // Once nothing holds the code.
  virtual void forget(const PluginCode& code) = 0;
  // Other plugins that build on its types, sorted.
  virtual std::vector<std::string> users_of(const PluginCode& code) = 0;
};

}  // namespace tenon::core
