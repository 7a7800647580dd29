// What a config says, for the plugin manager; and overrides by key.
#include "core/runtime/runtime.hpp"

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/types.hpp"
#include "core/plugin/config.hpp"

namespace tenon::core {

namespace {

uint32_t fallback_named(std::string_view name) {
  return name == "decline"         ? TENON_FALLBACK_DECLINE
         : name == "to_tensor"     ? TENON_FALLBACK_TO_TENSOR
         : name == "unwrap_rewrap" ? TENON_FALLBACK_UNWRAP_REWRAP
                                   : TENON_FALLBACK_INHERIT;
}

PluginPolicy policy_of(const tenon_tree& config) {
  PluginPolicy policy;
  policy.source =
      config.source().empty() ? "the config" : "config '" + std::string(config.source()) + "'";
  const auto text = [](const tenon_tree& node, std::string_view key) {
    const tenon_tree* found = node.find(key);
    return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
  };
  const auto truth = [](const tenon_tree& node, std::string_view key) {
    const tenon_tree* found = node.find(key);
    return found != nullptr && found->is_bool() && found->as_bool();
  };
  const auto is_false = [](const tenon_tree& node, std::string_view key) {
    const tenon_tree* found = node.find(key);
    return found != nullptr && found->is_bool() && !found->as_bool();
  };
  policy.strict = truth(config, "strict");
  policy.autoload = !is_false(config, "autoload");
  if (const tenon_tree* paths = config.find("search_paths")) {
    for (const tenon_tree& path : paths->children())
      policy.search_paths.emplace_back(path.as_string());
  }
  if (const tenon_tree* plugins = config.find("plugins")) {
    for (const tenon_tree& entry : plugins->children()) {
      PluginPolicy::Plugin plugin;
      plugin.name = text(entry, "path").empty() ? text(entry, "name") : text(entry, "path");
      if (plugin.name != text(entry, "name")) plugin.id = text(entry, "name");
      const std::string mode = text(entry, "load");
      plugin.mode = mode == "eager"   ? LoadMode::Eager
                    : mode == "never" ? LoadMode::Never
                                      : LoadMode::Lazy;
      plugin.version = text(entry, "version");
      plugin.sha256 = text(entry, "sha256");
      if (const tenon_tree* options = entry.find("options")) plugin.options = Tree(options);
      plugin.required = !is_false(entry, "require");
      plugin.glue = truth(entry, "glue");
      plugin.written = Tree(&entry);
      policy.plugins.push_back(std::move(plugin));
    }
  }
  if (const tenon_tree* ops = config.find("ops")) {
    if (const tenon_tree* prefer = ops->find("prefer")) {
      for (const tenon_tree& rule : prefer->children())
        policy.prefer.push_back(
            {std::string(rule.key()), std::string(rule.as_string()), Tree(&rule)});
    }
    if (const tenon_tree* disable = ops->find("disable")) {
      for (const tenon_tree& rule : disable->children())
        policy.disable.push_back({text(rule, "op"), text(rule, "plugin"), Tree(&rule)});
    }
    const std::string duplicates = text(*ops, "duplicates");
    policy.duplicates = duplicates == "first"  ? DuplicateRule::First
                        : duplicates == "last" ? DuplicateRule::Last
                                               : DuplicateRule::Error;
  }
  const auto texts = [](const tenon_tree& node, std::string_view key) {
    std::vector<std::string> list;
    if (const tenon_tree* found = node.find(key)) {
      for (const tenon_tree& one : found->children()) list.emplace_back(one.as_string());
    }
    return list;
  };
  if (const tenon_tree* types = config.find("types")) {
    for (const tenon_tree& entry : types->children()) {
      PluginPolicy::Type type;
      type.name = entry.key();
      type.settings.fallback = fallback_named(text(entry, "fallback"));
      if (const tenon_tree* ops = entry.find("fallback_ops")) {
        type.settings.fallback_allow = texts(*ops, "allow");
        type.settings.fallback_deny = texts(*ops, "deny");
        // Allowing none is not the same as saying nothing.
        if (ops->find("allow") != nullptr && type.settings.fallback_allow.empty())
          type.settings.fallback_deny = {"*"};
      }
      type.settings.covers = texts(entry, "covers");
      type.written = Tree(&entry);
      policy.types.push_back(std::move(type));
    }
  }
  return policy;
}

}  // namespace

const Override& find_override(std::string_view key, std::string_view provider) {
  const std::string wanted = canonical_pattern(std::string(key));
  const size_t bracket = wanted.find('[');
  plugin_manager();
  if (bracket != wanted.npos) {
    for (const std::string& type :
         type_names(std::string_view(wanted).substr(bracket + 1, wanted.size() - bracket - 2)))
      static_cast<void>(TypeTable::process().require(type));
  }
  if (const Override* entry = TypeTable::process().find_override(wanted, provider)) return *entry;
  if (const Override* other = TypeTable::process().find_override(wanted, "")) {
    throw Error(TENON_ERROR_VALUE, "no override " + quote(wanted) + " is registered by plugin " +
                                       quote(provider) + "; there is one by " +
                                       quote(other->provider));
  }
  std::vector<std::string> keys;
  for (const Override* entry : TypeTable::process().overrides()) keys.push_back(entry->key());
  const Words candidates(keys.begin(), keys.end());
  throw Error(TENON_ERROR_VALUE, "no override " + quote(wanted) + " is registered" +
                                     (provider.empty() ? "" : " by plugin " + quote(provider)) +
                                     (bracket == wanted.npos ? ": types belong to its name, as in "
                                                               "'add[A, B]'"
                                                             : suggestion(wanted, candidates)) +
                                     "; `tenon types` and `tenon show TYPE` list them");
}

void settle_rules(std::string_view op) { settle_rules(process_tables(), op); }

void apply_config(const tenon_tree& config) { plugin_manager().apply(policy_of(config)); }

void apply_config_lazily(const tenon_tree& config) {
  PluginPolicy policy = policy_of(config);
  for (PluginPolicy::Plugin& plugin : policy.plugins) {
    if (plugin.mode == LoadMode::Eager) plugin.mode = LoadMode::Lazy;
  }
  plugin_manager().apply(policy);
}

}  // namespace tenon::core
