// Combined policies: the newest first, after the environment.
#include "core/plugin/policy_stack.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/base/format.hpp"
#include "core/plugin/absolute_path.hpp"

namespace tenon::core {

PolicyStack::Entry PolicyStack::entry(const KnownPlugin& known) const {
  for (const PluginPolicy& policy : list) {
    for (const PluginPolicy::Plugin& plugin : policy.plugins) {
      if (is_plugin_path(plugin.name) ? plugin.name == known.found.path
                                      : known.is_named(plugin.name))
        return {&plugin, &policy};
    }
  }
  return {};
}

const PluginPolicy::Preference* PolicyStack::disabling(const KnownPlugin& plugin,
                                                       const PreferenceTarget& target,
                                                       std::string* source) const {
  for (const PluginPolicy& policy : list) {
    for (const PluginPolicy::Preference& preference : policy.disable) {
      if (!preference.plugin.empty() && !plugin.is_named(preference.plugin)) continue;
      if (!matches(preference, target)) continue;
      // Disabling an op of every provider does not disable its overrides.
      if (!target.key.empty() && preference.plugin.empty() && !preference.about_overrides())
        continue;
      if (source != nullptr) *source = policy.source;
      return &preference;
    }
  }
  return nullptr;
}

namespace {

// By the first preference for all calls that matches.
const KnownPlugin* preferred_by(const PluginPolicy& policy, const PreferenceTarget& target,
                                const KnownPlugins& candidates, std::string* reason) {
  for (const PluginPolicy::Preference& preference : policy.prefer) {
    if (preference.when || !matches(preference, target)) continue;
    for (const KnownPlugin* candidate : candidates) {
      if (!candidate->is_named(preference.plugin)) continue;
      if (reason != nullptr)
        *reason = format_text("preferred by {}: {}", policy.source, preference.pattern);
      return candidate;
    }
  }
  return nullptr;
}

}  // namespace

const KnownPlugin* PolicyStack::preferred(const PreferenceTarget& target,
                                          const KnownPlugins& candidates,
                                          std::string* reason) const {
  if (const KnownPlugin* plugin = preferred_by(environment, target, candidates, reason))
    return plugin;
  for (const PluginPolicy& policy : list) {
    if (const KnownPlugin* plugin = preferred_by(policy, target, candidates, reason)) return plugin;
  }
  return nullptr;
}

bool PolicyStack::prefers_for_calls() const {
  return std::ranges::any_of(list, [](const PluginPolicy& policy) {
    return std::ranges::any_of(policy.prefer, [](const auto& one) { return one.when.has_value(); });
  });
}

std::vector<PolicyStack::CallPreference> PolicyStack::preferred_for_calls(
    const PreferenceTarget& target, const KnownPlugins& candidates) const {
  std::vector<CallPreference> found;
  if (preferred_by(environment, target, candidates, nullptr) != nullptr) return found;
  for (const PluginPolicy& policy : list) {
    for (const PluginPolicy::Preference& preference : policy.prefer) {
      if (!matches(preference, target)) continue;
      const auto candidate = std::ranges::find_if(candidates, [&](const KnownPlugin* plugin) {
        return plugin->is_named(preference.plugin);
      });
      if (candidate == candidates.end()) continue;
      if (!preference.when) return found;
      found.push_back({&preference, *candidate, policy.source});
    }
  }
  return found;
}

const KnownPlugin* PolicyStack::by_place(const KnownPlugins& candidates,
                                         std::string* reason) const {
  for (const PluginPolicy& policy : list) {
    if (policy.duplicates == DuplicateChoice::Error) continue;
    const KnownPlugin* chosen = nullptr;
    for (const PluginPolicy::Plugin& plugin : policy.plugins) {
      for (const KnownPlugin* candidate : candidates) {
        if (is_plugin_path(plugin.name) ? plugin.name != candidate->found.path
                                        : !candidate->is_named(plugin.name))
          continue;
        if (chosen == nullptr || policy.duplicates == DuplicateChoice::Last) chosen = candidate;
      }
    }
    if (chosen == nullptr) continue;
    if (reason != nullptr) {
      *reason = format_text("{} in the list of {}",
                            policy.duplicates == DuplicateChoice::First ? "first" : "last",
                            policy.source);
    }
    return chosen;
  }
  return nullptr;
}

bool PolicyStack::is_autoload_off() const {
  return !autoload ||
         std::ranges::any_of(list, [](const PluginPolicy& policy) { return !policy.autoload; });
}

PathTrust PolicyStack::trust() const {
  std::vector<std::string> paths;
  for (const PluginPolicy& policy : list) {
    for (const std::string& path : policy.trust) paths.push_back(absolute_path(path));
  }
  return PathTrust(std::move(paths));
}

std::vector<Json> PolicyStack::guard_documents() const {
  std::vector<Json> documents;
  for (const PluginPolicy& policy : list) {
    if (policy.adopted.document) documents.push_back(policy.adopted.document);
  }
  return documents;
}

std::string PolicyStack::guard_needed_by() const {
  const auto needing = std::ranges::find_if(list, &PluginPolicy::needs_guard);
  return guard != nullptr || needing == list.end() ? "" : needing->source;
}

bool PolicyStack::is_strict() const {
  return std::ranges::any_of(list, [](const PluginPolicy& policy) { return policy.strict; });
}

Search PolicyStack::search() const {
  Search search;
  search.files = files;
  search.added = folders;
  search.trust = trust();
  for (const PluginPolicy& policy : list) {
    search.configured.insert(search.configured.end(), policy.search_paths.begin(),
                             policy.search_paths.end());
    for (const PluginPolicy::Plugin& plugin : policy.plugins) {
      search.named.push_back(is_plugin_path(plugin.name) ? plugin.id : plugin.name);
      if (!is_plugin_path(plugin.name)) continue;
      std::error_code fault;
      if (plugin.required || std::filesystem::exists(plugin.name, fault))
        search.files.push_back(plugin.name);
    }
  }
  search.named.insert(search.named.end(), versions.begin(), versions.end());
  return search;
}

}  // namespace tenon::core
