// The runtime for applications: plugins, configuration, listings.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/json.hpp"
#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN

inline void add_plugin_path(const std::string& folder) {
  detail::check(host().plugin_path_add, folder.c_str());
}
inline void load_plugin(const std::string& id_or_path) {
  detail::check(host().plugin_load, id_or_path.c_str());
}

// Choices of unload for a plugin that cannot go yet: what it does while nodes of graphs, modules or
// hooks hold the plugin.
enum class Unload : uint32_t {
  refuse = TENON_UNLOAD_REFUSE,  // throws PluginError, which lists them
  wait = TENON_UNLOAD_WAIT,      // withdraws the plugin, and waits for them
  force = TENON_UNLOAD_FORCE     // withdraws it; its code goes when they do
};
// From the return on no call reaches the plugin: handles of its ops throw PluginError, or call the next
// provider. Graphs that it recorded keep its code, which is unmapped after the last of them when the
// file allows that (`tenon show`). The report: {"state": "draining", "drained" or "unmapped",
// "holders", "kept_by"...}, see the slot plugin_unload. Loaded again by load_plugin alone.
// `timeout_ms` is for Unload::wait; < 0: no limit. [any-thread, outside of calls]
inline Json unload(const std::string& plugin, Unload choice = Unload::refuse,
                   int64_t timeout_ms = -1) {
  Json report;
  detail::check(host().plugin_unload, plugin.c_str(), static_cast<uint32_t>(choice), timeout_ms,
                report.slot());
  return report;
}
// Puts the plugin's file, as it is now, in place of the code that is active: calls that begin after
// the return run the new code, graphs of before run the old one. Throws PluginError, and keeps the
// old code, when the new one is refused. Returns the new generation; loads a plugin that is not
// loaded. [any-thread]
inline uint64_t reload(const std::string& id_or_path) {
  uint64_t generation = 0;
  detail::check(host().plugin_reload, id_or_path.c_str(), &generation);
  return generation;
}

// Reads and checks a config file; every fault is in the one error. Runs no plugin code.
inline Json read_config(const std::string& path) {
  Json config;
  detail::check(host().config_read, path.c_str(), config.slot());
  return config;
}
// Reads a config with further sections, which a JSON Schema describes: the slot
// config_read_sections has the subset. Without one, keys that the host does not know are left to
// the application.
inline Json read_config(const std::string& path, const Json& sections) {
  Json config;
  detail::check(host().config_read_sections, path.c_str(), sections.handle(), config.slot());
  return config;
}
// JSON Schema of configs with these sections, for editors. Undefined sections: the host's keys.
inline Json config_schema(const Json& sections = {}) {
  Json schema;
  detail::check(host().config_schema, sections.handle(), schema.slot());
  return schema;
}
// Applies its plugins, search paths and op preferences.
inline void apply_config(const Json& config) {
  detail::check(host().config_apply, config.handle());
}

// Applies a config without running plugin code: plugins with "load": "eager" wait for their first
// use.
inline void apply_config_lazily(const Json& config) {
  detail::check(host().config_apply_lazily, config.handle());
}

// Listings, from facts alone: "plugins", "ops", "op"...; share/tenon/documents.md has the kinds and
// their shapes.
inline Json describe(const std::string& what, const std::string& name = "") {
  Json document;
  detail::check(host().describe, what.c_str(), name.c_str(), document.slot());
  return document;
}
// Counts recorded calls by provider while they are alive, from now on: describe("live"). Returns
// whether it was on. With TENON_LIVE in the environment it is on from the start, and what is alive
// when the program ends is printed.
inline bool track_live(bool enabled) { return host().live_tracking_set(enabled ? 1 : 0) != 0; }
inline std::string signature(const std::string& op) {
  Value text;
  detail::check(host().op_signature, op.c_str(), text.slot());
  return text.text();
}

// A module from its document: {"type": "Sequential", "layers": [...]}. Settings beside attributes,
// such as a state file to load, are state::create_module's; within it they are known here too.
inline Module create_module(const Json& document) {
  tenon_module* module = nullptr;
  detail::check(host().module_create_json, document.handle(),
                static_cast<const tenon_module_settings*>(nullptr), &module);
  return Module::take(module);
}

// Returns large blocks that the allocator keeps for reuse to the system, and sets how many bytes it
// may keep; a negative limit leaves it as it is.
inline void release_cached_memory(int64_t keep_limit = -1) {
  host().memory_release_cached(keep_limit);
}

TENON_NAMESPACE_END
