// The process's runtime: the op table, the module table and the plugins that fill them.
#pragma once

#include "core/base/json.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/plugin/plugin_manager.hpp"
#include "core/runtime/table_registrar.hpp"

struct tenon_host;

namespace tenon::core {

// The one host of the process. Never changes.
const tenon_host& host_table() noexcept;

// The process's tables and the manager of its plugins: made by runtime/assembly.cpp at their first
// use, alive until the process ends.
Tables process_tables();
PluginManager& plugin_manager();

// The runtime that documents are made of: the process's, or a test's.
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

}  // namespace tenon::core
