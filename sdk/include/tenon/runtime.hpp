// The runtime for applications: plugins, policies, raw documents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/json.hpp"
#include "tenon/module.hpp"
#include "tenon/text.hpp"

TENON_NAMESPACE_BEGIN

inline void add_plugin_path(const std::string& folder) {  // searched before the others
  detail::check(service::plugins().path_add, folder.c_str());
}
inline void load_plugin(const std::string& id_or_path) {  // PluginError when it is refused
  detail::check(service::plugins().load, id_or_path.c_str());
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
  detail::check(service::plugins().unload, plugin.c_str(), static_cast<uint32_t>(choice),
                timeout_ms, report.slot());
  return report;
}
// Puts the plugin's file, as it is now, in place of the code that is active: calls that begin after
// the return run the new code, graphs of before run the old one. Throws PluginError, and keeps the
// old code, when the new one is refused. Returns the new generation; loads a plugin that is not
// loaded. [any-thread]
inline uint64_t reload(const std::string& id_or_path) {
  uint64_t generation = 0;
  detail::check(service::plugins().reload, id_or_path.c_str(), &generation);
  return generation;
}

// Treatment of plugins that a policy loads at once.
enum class EagerPlugins : uint32_t {
  load,
  wait = TENON_POLICY_LAZY  // for their first use, so that no plugin code runs
};
// Decides about plugins and their ops: {"plugins": [{"name": "math"}], "ops": {"disable": [{"op":
// "nn.*"}]}}. share/tenon/documents.md has the members; <tenon/config/config.hpp> reads them from a
// file. Throws ConfigError, or PluginError, and then nothing changes. [any-thread]
inline void apply_policy(const Json& policy, EagerPlugins eager = EagerPlugins::load) {
  detail::check(service::plugins().policy_apply, policy.handle(), static_cast<uint32_t>(eager));
}

// ---- raw documents, from which tenon::listing makes listings ----
//
// share/tenon/documents.md has their shapes. Nothing is loaded for them.

enum class Document : uint32_t {  // raw documents of the host
  runtime = TENON_DOCUMENT_RUNTIME,
  plugins = TENON_DOCUMENT_PLUGINS,
  facts = TENON_DOCUMENT_FACTS,
  registrations = TENON_DOCUMENT_REGISTRATIONS,
  live = TENON_DOCUMENT_LIVE,
  loadable = TENON_DOCUMENT_LOADABLE
};
inline Json document(Document which) {  // shape: documents.md
  Json content;
  detail::check(service::documents().document, static_cast<uint32_t>(which), content.slot());
  return content;
}
// The facts of a plugin file, which need not be in a folder that is searched.
inline Json read_facts(const std::string& path) {
  Json facts;
  detail::check(service::documents().facts_read, path.c_str(), facts.slot());
  return facts;
}

namespace detail {

// The place of the one name that `name` means: itself, or what ends in it after a dot. ValueError when
// there is none, or several. `what` they name, for the message.
inline size_t find_name(const std::vector<std::string>& names, const std::string& name,
                        const std::string& what) {
  size_t found = names.size();
  std::vector<std::string> matches;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& full = names[i];
    if (full == name) return i;
    const size_t rest = full.size() - name.size();
    if (full.size() <= name.size() || full[rest - 1] != '.' ||
        full.compare(rest, name.npos, name) != 0)
      continue;
    if (found == names.size()) found = i;
    if (matches.empty() || matches.back() != full) matches.push_back(full);
  }
  const std::string quoted = "'" + printable(name) + "'";
  if (matches.empty())
    throw ValueError("no " + what + " is named " + quoted + suggestion(name, names));
  if (matches.size() == 1) return found;
  std::string list;
  for (size_t i = 0; i < matches.size(); ++i)
    list += (i == 0 ? "'" : i + 1 < matches.size() ? "', '" : "' or '") + matches[i];
  throw ValueError(what + " " + quoted + " is ambiguous: it may be " + list + "'");
}

}  // namespace detail

// The facts of a plugin by its id, or by its file: a text with a '/' or one that ends in ".so".
inline Json plugin_facts(const std::string& id_or_path) {
  const size_t size = id_or_path.size();
  const bool file = id_or_path.find('/') != std::string::npos ||
                    (size > 3 && id_or_path.compare(size - 3, 3, ".so") == 0);
  if (file) return read_facts(id_or_path);
  const Json plugins = document(Document::facts);
  std::vector<std::string> ids;
  for (int64_t i = 0; i < plugins.size(); ++i) ids.push_back(plugins[i]["id"].text());
  const Json plugin = plugins[static_cast<int64_t>(detail::find_name(ids, id_or_path, "plugin"))];
  if (!plugin["facts"].defined()) throw PluginError(plugin["reason"].text());
  return plugin["facts"];
}
// A schema, parsed; ValueError with a caret under the fault.
inline Json parse_schema(std::string_view schema) {
  Json parsed;
  detail::check(service::documents().schema_parse, schema.data(),
                static_cast<int64_t>(schema.size()), parsed.slot());
  return parsed;
}

enum class ItemKind : uint32_t {  // kinds of named things
  op = TENON_ITEM_OP,
  module = TENON_ITEM_MODULE,
  type = TENON_ITEM_TYPE
};
// The plugins that declare an item of a full name, with their standing.
inline Json providers(ItemKind kind, const std::string& name) {
  Json list;
  detail::check(service::documents().providers, static_cast<uint32_t>(kind), name.c_str(),
                list.slot());
  return list;
}
// The plugin that runs calls of an op, or would once it is loaded; empty where none may.
inline std::string provider_of(const std::string& op) {
  const Json list = providers(ItemKind::op, op);
  for (int64_t i = 0; i < list.size(); ++i) {
    if (list[i]["used"].as_bool()) return list[i]["plugin"].text();
  }
  return {};
}

// Counts recorded calls by provider while they are alive, from now on: Document::live. Returns
// whether it was on. With TENON_LIVE in the environment it is on from the start, and what is alive
// when the program ends is printed.
inline bool track_live(bool enabled) { return service::graph().tracking_set(enabled ? 1 : 0) != 0; }

// A module from its document: {"type": "Sequential", "layers": [...]}. Settings beside attributes,
// such as a state file to load, are state::create_module's; within it they are known here too.
inline Module create_module(const Json& document) {
  tenon_module* module = nullptr;
  detail::check(service::modules().create_json, document.handle(),
                static_cast<const tenon_module_settings*>(nullptr), &module);
  return Module::take(module);
}

// Returns large blocks that the allocator keeps for reuse to the system, and sets how many bytes it
// may keep; a negative limit leaves it as it is.
inline void release_cached_memory(int64_t keep_limit = -1) {
  service::values().release_cached_memory(keep_limit);
}

TENON_NAMESPACE_END
