// The process's runtime: the op table, the module table and the plugins that fill them.
#pragma once

#include "core/base/json.hpp"
#include "core/dispatch/types.hpp"
#include "core/plugin/plugin_manager.hpp"
#include "core/runtime/table_registrar.hpp"

struct tenon_host;

namespace tenon::core {

// The one table of host functions. Never changes.
const tenon_host& host_table() noexcept;

// The process's tables and the manager of its plugins: made by runtime/assembly.cpp at their first
// use, alive until the process ends.
Tables process_tables();
PluginManager& plugin_manager();

// What documents are made of: the process's, or a test's.
struct Runtime {
  Tables tables;
  PluginManager& manager;
};
Runtime process_runtime();

// The override "add[A, B]", types in any order, of that plugin, or the one that ranks first when
// `provider` is empty. Loads the plugins of the types. Throws ValueError when no override has the key.
const Override& find_override(TypeTable& types, std::string_view key, std::string_view provider);

// refresh_active_rules of the process's tables.
void refresh_active_rules(std::string_view op);

// Applies the plugins, search paths and op preferences of a config that was read.
void apply_config(PluginManager& manager, const tenon_json& config);
// The same, but eager plugins wait for their first use: runs no plugin code.
void apply_config_lazily(PluginManager& manager, const tenon_json& config);

}  // namespace tenon::core
