#include "core/plugin/config_policy.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "tenon/abi/type.h"

namespace tenon::core {

namespace {

uint32_t fallback_named(std::string_view name) {
  return name == "decline"         ? TENON_FALLBACK_DECLINE
         : name == "to_tensor"     ? TENON_FALLBACK_TO_TENSOR
         : name == "unwrap_rewrap" ? TENON_FALLBACK_UNWRAP_REWRAP
                                   : TENON_FALLBACK_INHERIT;
}

std::string text_in(const tenon_json& node, std::string_view key) {
  const tenon_json* found = node.find(key);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}
bool bool_in(const tenon_json& node, std::string_view key, bool fallback) {
  const tenon_json* found = node.find(key);
  return found != nullptr && found->is_bool() ? found->as_bool() : fallback;
}
std::vector<std::string> strings_in(const tenon_json& node, std::string_view key) {
  std::vector<std::string> list;
  if (const tenon_json* found = node.find(key)) {
    for (const tenon_json& one : found->children()) list.emplace_back(one.as_string());
  }
  return list;
}

PluginPolicy::Plugin plugin_of(const tenon_json& entry) {
  PluginPolicy::Plugin plugin;
  const std::string name = text_in(entry, "name");
  const std::string path = text_in(entry, "path");
  plugin.name = path.empty() ? name : path;
  if (plugin.name != name) plugin.id = name;
  const std::string mode = text_in(entry, "load");
  plugin.mode = mode == "eager"   ? LoadMode::Eager
                : mode == "never" ? LoadMode::Never
                                  : LoadMode::Lazy;
  plugin.version = text_in(entry, "version");
  if (!text_in(entry, "sha256").empty()) plugin.guard = Json(&entry);
  if (const tenon_json* options = entry.find("options")) plugin.options = Json(options);
  plugin.required = bool_in(entry, "require", true);
  plugin.glue = bool_in(entry, "glue", false);
  plugin.written = Json(&entry);
  return plugin;
}

// Of the entry of a list of preferences.
std::optional<std::vector<ShapeCondition>> conditions_of(const tenon_json& preference) {
  const tenon_json* when = preference.find("when");
  if (when == nullptr) return std::nullopt;
  std::vector<ShapeCondition> conditions;
  for (const tenon_json& one : when->children())
    conditions.push_back({std::string(one.key()), ShapeClass(one.as_string())});
  return conditions;
}

void read_preferences(const tenon_json& ops, PluginPolicy& policy) {
  if (const tenon_json* prefer = ops.find("prefer")) {
    for (const tenon_json& entry : prefer->children()) {
      const std::string pattern(entry.key());
      if (entry.is_string()) {
        policy.prefer.push_back({pattern, std::string(entry.as_string()), Json(&entry)});
        continue;
      }
      for (const tenon_json& preference : entry.children())
        policy.prefer.push_back(
            {pattern, text_in(preference, "plugin"), Json(&preference), conditions_of(preference)});
    }
  }
  if (const tenon_json* disable = ops.find("disable")) {
    for (const tenon_json& entry : disable->children())
      policy.disable.push_back({text_in(entry, "op"), text_in(entry, "plugin"), Json(&entry)});
  }
  const std::string duplicates = text_in(ops, "duplicates");
  policy.duplicates = duplicates == "first"  ? DuplicateChoice::First
                      : duplicates == "last" ? DuplicateChoice::Last
                                             : DuplicateChoice::Error;
}

PluginPolicy::Type type_of(const tenon_json& entry) {
  PluginPolicy::Type type;
  type.name = entry.key();
  type.settings.fallback = fallback_named(text_in(entry, "fallback"));
  if (const tenon_json* ops = entry.find("fallback_ops")) {
    type.settings.fallback_allow = strings_in(*ops, "allow");
    type.settings.fallback_deny = strings_in(*ops, "deny");
    // Allowing none is not the same as saying nothing.
    if (ops->find("allow") != nullptr && type.settings.fallback_allow.empty())
      type.settings.fallback_deny = {"*"};
  }
  type.settings.covers = strings_in(entry, "covers");
  type.written = Json(&entry);
  return type;
}

// The load guard knows what these keys mean.
void read_guard(const tenon_json& config, PluginPolicy& policy) {
  policy.guard = Json(&config);
  const tenon_json* keys = config.find("keys");
  policy.needs_guard = (keys != nullptr && keys->size() > 0) ||
                       !text_in(config, "frozen").empty() ||
                       std::ranges::any_of(policy.plugins, [](const PluginPolicy::Plugin& plugin) {
                         return static_cast<bool>(plugin.guard);
                       });
}

}  // namespace

PluginPolicy policy_of(const tenon_json& config) {
  PluginPolicy policy;
  policy.source =
      config.source().empty() ? "the config" : format_text("config '{}'", config.source());
  policy.strict = bool_in(config, "strict", false);
  policy.autoload = bool_in(config, "autoload", true);
  policy.search_paths = strings_in(config, "search_paths");
  policy.trust = strings_in(config, "trust");
  if (const tenon_json* plugins = config.find("plugins")) {
    for (const tenon_json& entry : plugins->children()) policy.plugins.push_back(plugin_of(entry));
  }
  if (const tenon_json* ops = config.find("ops")) read_preferences(*ops, policy);
  if (const tenon_json* types = config.find("types")) {
    for (const tenon_json& entry : types->children()) policy.types.push_back(type_of(entry));
  }
  read_guard(config, policy);
  return policy;
}

}  // namespace tenon::core
