// Registration of plugins: the tables of one runtime.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "core/base/fork.hpp"
#include "core/dispatch/table/registry.hpp"
#include "core/dispatch/types/plan.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/nn/module_type.hpp"
#include "core/plugin/plugin_manager.hpp"

namespace tenon::core {

// Borrowed; they outlive what uses them.
struct Tables {
  Registry& ops;
  TypeTable& types;
  ModuleTable& modules;
  PlanCache* plans = nullptr;  // made from these; null: none is kept
};

// Registers everything of a plugin in all tables, or nothing.
class TableRegistrar final : public Registrar {
 public:
  explicit TableRegistrar(Tables tables) : tables_(tables) {}

  // The manager of the plugins that register here: what the tables do not have, they ask it for.
  // Once, before the first plugin is loaded; the manager outlives the tables' last use.
  void connect(PluginManager& manager);

  void commit(const ResolvedLoad& load) override;
  void configure(const std::string& type, const TypeSettings& settings) override;
  void set_preferences(Preferences preferences) override {
    tables_.ops.set_preferences(std::move(preferences));
  }
  std::shared_ptr<const void> withdraw(const PluginCode& code) override;
  void forget(const PluginCode& code) override;
  std::vector<std::string> users_of(const PluginCode& code) override;

 private:
  void refresh_rules(bool keep_going);
  TypeTable::Prepared prepare_types(const ResolvedLoad& load) const;

  const Tables tables_;
  PluginManager* manager_ = nullptr;
  std::mutex mutex_;
  const HeldAcrossFork held_{mutex_};
};

// Has the op go by the rules that rank first and are not switched off, or else by its own.
void refresh_active_rules(const Tables& tables, std::string_view op);

}  // namespace tenon::core
