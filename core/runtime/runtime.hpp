// The process's runtime: the op table, the module table and the plugins that fill them.
#pragma once

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
// Before names are looked up in the tables: the plugins that declare them are known from now on.
void index_plugins();

// The runtime that documents are made of: the process's, or a test's.
struct Runtime {
  Tables tables;
  PluginManager& manager;
};
Runtime process_runtime();

}  // namespace tenon::core
