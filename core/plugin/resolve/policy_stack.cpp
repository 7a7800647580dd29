// Combined policies: the newest first, after the environment.
#include "core/plugin/resolve/policy_stack.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/format.hpp"
#include "core/plugin/facts/paths.hpp"
#include "core/plugin/facts/version_range.hpp"
#include "core/plugin/load/table_check.hpp"

namespace tenon::core {

namespace {

bool is_meant(const KnownPlugin& known, const PluginPolicy::Plugin& entry) {
  return is_plugin_path(entry.name) ? entry.name == known.found.path : known.is_named(entry.name);
}

// Whether some policy has the switch so.
bool any_has(const std::vector<PluginPolicy>& list, bool PluginPolicy::*member, bool value = true) {
  return std::ranges::find(list, value, member) != list.end();
}

}  // namespace

PolicyStack::Entry PolicyStack::entry(const KnownPlugin& known) const {
  for (const PluginPolicy& policy : list) {
    for (const PluginPolicy::Plugin& plugin : policy.plugins) {
      if (is_meant(known, plugin)) return {&plugin, &policy};
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
        if (!is_meant(*candidate, plugin)) continue;
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
  return !autoload || any_has(list, &PluginPolicy::autoload, false);
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

bool PolicyStack::is_strict() const { return any_has(list, &PluginPolicy::strict); }

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

// ---- one plugin ----

namespace {

std::optional<PluginFailure> refusal(const KnownPlugin& plugin, const PolicyStack& policies,
                                     const tenon_host& host) {
  const PluginFacts& facts = *plugin.found.facts;
  const std::string& path = plugin.found.path;
  if (auto failure = judge_facts(host, facts, path)) return failure;
  const PolicyStack::Entry entry = policies.entry(plugin);
  if (entry.plugin != nullptr) {
    if (auto failure = check_version(facts, path, entry.plugin->version)) {
      failure->asked_by = entry.policy->source;
      return failure;
    }
  }
  const GuardTerms terms = guard_terms(plugin, policies);
  return GuardedPlugin(terms, plugin.id(), path)
      .judge(TENON_GUARD_FOUND, facts, plugin.found.stamp);
}

}  // namespace

Admission admit(const KnownPlugin& plugin, const PolicyStack& policies, const tenon_host& host) {
  const auto exclude = [](std::string reason) {
    return Admission{PluginState::Excluded, std::move(reason), std::nullopt};
  };
  const auto refuse = [](PluginFailure failure) {
    std::string reason = failure.text();
    return Admission{PluginState::Failed, std::move(reason), std::move(failure)};
  };
  if (plugin.found.failure) return refuse(*plugin.found.failure);
  if (!plugin.found.shadowed.empty())
    return {PluginState::Shadowed, plugin.found.shadowed, std::nullopt};
  if (plugin.unloaded) return exclude("it was unloaded");
  const PolicyStack::Entry entry = policies.entry(plugin);
  if (entry.plugin != nullptr && entry.plugin->mode == LoadMode::Never)
    return exclude(format_text(R"("load" is "never" in {})", entry.policy->source));
  if (entry.plugin == nullptr && !plugin.named && plugin.found.origin != PluginOrigin::Path &&
      policies.is_autoload_off())
    return exclude("loading from folders is switched off, and no config names it");
  if (auto failure = refusal(plugin, policies, host)) return refuse(std::move(*failure));
  return {};
}

GuardTerms guard_terms(const KnownPlugin& plugin, const PolicyStack& policies) {
  GuardTerms terms;
  terms.guard = policies.guard;
  terms.needed_by = policies.guard_needed_by();
  terms.documents = policies.guard_documents();
  const PolicyStack::Entry entry = policies.entry(plugin);
  if (entry.plugin != nullptr) terms.entry = entry.plugin->guard;
  return terms;
}

std::optional<PluginFailure> check_version(const PluginFacts& facts, const std::string& path,
                                           const std::string& range) {
  try {
    if (VersionRange(range).contains(parse_version(facts.version))) return std::nullopt;
    return make_failure(PluginStage::Version, facts.id, path,
                        "its version differs from the version in the config",
                        "install a version that fits, or correct `version`",
                        format_text("version {}", range), facts.version);
  } catch (const Error& error) {
    return make_failure(PluginStage::Version, facts.id, path, error.message, "correct `version`");
  }
}

}  // namespace tenon::core
