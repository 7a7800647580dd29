// Any program may write a policy: each member is checked, and the first fault ends the reading. The
// library tenon::config lists all faults of a file at once.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/facts/version_range.hpp"
#include "core/plugin/resolve/policy.hpp"
#include "tenon/abi/type.h"

namespace tenon::core {

namespace {

[[noreturn]] void refuse(const tenon_json& node, std::string_view what) {
  const std::string place = place_of(node);
  throw Error(TENON_ERROR_CONFIG, "{}: {}", place.empty() ? "the policy" : place, what);
}
[[noreturn]] void refuse_kind(const tenon_json& node, std::string_view expected) {
  refuse(node, format_text("found {}, expected {}", kind_text(node.kind()), expected));
}

// An object with no other members than these.
void require_members(const tenon_json& object, const Words& names) {
  if (!object.is_object()) refuse_kind(object, "an object");
  for (const tenon_json& member : object.children()) {
    if (std::ranges::find(names, member.key()) != names.end()) continue;
    refuse(member, format_text("unknown key {}, expected {}{}", quote(member.key()),
                               quoted_list(names, "or"), suggestion(member.key(), names)));
  }
}

std::string_view text_of(const tenon_json& node) {
  if (!node.is_string()) refuse_kind(node, "a string");
  return node.as_string();
}
std::span<const tenon_json> members_of(const tenon_json& node) {
  if (!node.is_object()) refuse_kind(node, "an object");
  return node.children();
}
std::span<const tenon_json> elements_of(const tenon_json& node) {
  if (!node.is_array()) refuse_kind(node, "an array");
  return node.children();
}

std::string text_in(const tenon_json& object, std::string_view key) {
  const tenon_json* found = object.find(key);
  return found == nullptr ? std::string() : std::string(text_of(*found));
}
bool bool_in(const tenon_json& object, std::string_view key, bool fallback) {
  const tenon_json* found = object.find(key);
  if (found == nullptr) return fallback;
  if (!found->is_bool()) refuse_kind(*found, "a boolean");
  return found->as_bool();
}
std::span<const tenon_json> elements_in(const tenon_json& object, std::string_view key) {
  const tenon_json* found = object.find(key);
  return found == nullptr ? std::span<const tenon_json>() : elements_of(*found);
}
std::span<const tenon_json> members_in(const tenon_json& object, std::string_view key) {
  const tenon_json* found = object.find(key);
  return found == nullptr ? std::span<const tenon_json>() : members_of(*found);
}
std::vector<std::string> strings_in(const tenon_json& object, std::string_view key) {
  std::vector<std::string> list;
  for (const tenon_json& one : elements_in(object, key)) list.emplace_back(text_of(one));
  return list;
}

// The choice that a word names.
template <class Choice>
Choice choice_in(const tenon_json& object, std::string_view key, Choice fallback,
                 std::initializer_list<std::pair<std::string_view, Choice>> choices) {
  const tenon_json* found = object.find(key);
  if (found == nullptr) return fallback;
  Words words;
  for (const auto& [word, choice] : choices) {
    if (text_of(*found) == word) return choice;
    words.push_back(word);
  }
  refuse(*found, format_text("found the string {}, expected {}{}", quote(found->as_string()),
                             quoted_list(words, "or"), suggestion(found->as_string(), words)));
}

// A text that a class reads, whose message says what is expected.
template <class Read>
auto read_text(const tenon_json& node, Read&& read) {
  const std::string_view text = text_of(node);
  try {
    return read(text);
  } catch (const Error& error) {
    refuse(node, error.message);
  }
}

PluginPolicy::Plugin plugin_of(const tenon_json& entry, bool lazy) {
  require_members(entry,
                  {"name", "path", "version", "options", "sha256", "load", "require", "glue"});
  PluginPolicy::Plugin plugin;
  const std::string name = text_in(entry, "name");
  const std::string path = text_in(entry, "path");
  if (name.empty() && path.empty())
    refuse(entry, "found neither 'name' nor 'path', expected one of them");
  plugin.name = path.empty() ? name : path;
  if (plugin.name != name) plugin.id = name;
  plugin.mode = choice_in(entry, "load", LoadMode::Lazy,
                          {{"lazy", LoadMode::Lazy},
                           {"eager", lazy ? LoadMode::Lazy : LoadMode::Eager},
                           {"never", LoadMode::Never}});
  if (const tenon_json* version = entry.find("version"))
    plugin.version = read_text(*version, [](std::string_view text) {
      static_cast<void>(VersionRange(text));
      return std::string(text);
    });
  if (!text_in(entry, "sha256").empty()) plugin.guard = Json(&entry);
  if (const tenon_json* options = entry.find("options")) {
    members_of(*options);
    plugin.options = Json(options);
  }
  plugin.required = bool_in(entry, "require", true);
  plugin.glue = bool_in(entry, "glue", false);
  plugin.written = Json(&entry);
  return plugin;
}

// Conditions of one preference of a list.
std::optional<std::vector<ShapeCondition>> conditions_of(const tenon_json& preference) {
  const tenon_json* when = preference.find("when");
  if (when == nullptr) return std::nullopt;
  std::vector<ShapeCondition> conditions;
  for (const tenon_json& one : members_of(*when))
    conditions.push_back({std::string(one.key()),
                          read_text(one, [](std::string_view text) { return ShapeClass(text); })});
  return conditions;
}

void read_ops(const tenon_json& ops, PluginPolicy& policy) {
  require_members(ops, {"prefer", "disable", "duplicates"});
  for (const tenon_json& entry : members_in(ops, "prefer")) {
    const std::string pattern(entry.key());
    if (entry.is_string()) {
      policy.prefer.push_back({pattern, std::string(entry.as_string()), Json(&entry)});
      continue;
    }
    if (!entry.is_array()) refuse_kind(entry, "a string or an array");
    for (const tenon_json& preference : entry.children()) {
      require_members(preference, {"plugin", "when"});
      policy.prefer.push_back(
          {pattern, text_in(preference, "plugin"), Json(&preference), conditions_of(preference)});
    }
  }
  for (const tenon_json& entry : elements_in(ops, "disable")) {
    require_members(entry, {"op", "plugin"});
    policy.disable.push_back({text_in(entry, "op"), text_in(entry, "plugin"), Json(&entry)});
  }
  policy.duplicates = choice_in(ops, "duplicates", DuplicateChoice::Error,
                                {{"error", DuplicateChoice::Error},
                                 {"first", DuplicateChoice::First},
                                 {"last", DuplicateChoice::Last}});
}

PluginPolicy::Type type_of(const tenon_json& entry) {
  require_members(entry, {"fallback", "fallback_ops", "covers"});
  PluginPolicy::Type type;
  type.name = entry.key();
  type.settings.fallback = choice_in<uint32_t>(entry, "fallback", TENON_FALLBACK_INHERIT,
                                               {{"decline", TENON_FALLBACK_DECLINE},
                                                {"to_tensor", TENON_FALLBACK_TO_TENSOR},
                                                {"unwrap_rewrap", TENON_FALLBACK_UNWRAP_REWRAP}});
  if (const tenon_json* ops = entry.find("fallback_ops")) {
    require_members(*ops, {"allow", "deny"});
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

PluginPolicy policy_of(const tenon_json& document, bool lazy) {
  require_members(document, {"plugins", "search_paths", "ops", "types", "strict", "autoload",
                             "frozen", "trust", "keys", "quarantine", "retry"});
  PluginPolicy policy;
  policy.source =
      document.source().empty() ? "the config" : format_text("config '{}'", document.source());
  policy.strict = bool_in(document, "strict", false);
  policy.autoload = bool_in(document, "autoload", true);
  policy.search_paths = strings_in(document, "search_paths");
  policy.trust = strings_in(document, "trust");
  for (const tenon_json& entry : elements_in(document, "plugins"))
    policy.plugins.push_back(plugin_of(entry, lazy));
  if (const tenon_json* ops = document.find("ops")) read_ops(*ops, policy);
  for (const tenon_json& entry : members_in(document, "types"))
    policy.types.push_back(type_of(entry));
  read_guard(document, policy);
  return policy;
}

}  // namespace tenon::core
