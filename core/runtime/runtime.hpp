// The process's runtime: the op table, the module table and the plugins that fill them.
#pragma once

#include "core/base/json.hpp"
#include "core/dispatch/types/type_table.hpp"
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

// What listings read: the process's, or a test's.
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

// Listings from facts: sdk/share/tenon/documents.md has the shapes.
Json describe(const Runtime& runtime, std::string_view what, std::string_view name);
// What plugin_unload reports, and "plugin" of its generations that are still there.
Json retired_document(const RetiredPlugin& retired);
// Full names of the ops that a tensor type may override, of those that the manager's plugins declare.
std::vector<std::string> overridable_ops(const Runtime& runtime);
// "(input, other, *, alpha=1, out=None)" of an op by full name, or by its last part when that is
// unique.
std::string describe_signature(const Runtime& runtime, std::string_view name);

}  // namespace tenon::core
