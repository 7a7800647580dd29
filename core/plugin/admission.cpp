// Judging plugins by what policies say of them.
#include "core/plugin/admission.hpp"

#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/plugin/absolute_path.hpp"
#include "core/plugin/held_services.hpp"
#include "core/plugin/loader.hpp"
#include "core/plugin/version_range.hpp"

namespace tenon::core {

namespace {

std::optional<PluginFailure> refusal(const KnownPlugin& plugin, const PolicyStack& policies,
                                     const tenon_host& host) {
  const PluginFacts& facts = *plugin.found.facts;
  const std::string& path = plugin.found.path;
  if (auto failure = judge_abi(host, facts.id, path, facts.abi_major, facts.abi_minor))
    return failure;
  if (auto failure = judge_services(host, facts, path)) return failure;
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

// The plugin by its file, with its options, and what it may need in its init: the folders in which
// others are found.
Json trial_config(const KnownPlugin& plugin, const PluginPolicy::Plugin& pinned,
                  const PolicyStack& policies, std::span<const SearchFolder> folders) {
  JsonBuilder config;
  config.begin_object().key("search_paths").begin_array();
  for (const SearchFolder& folder : folders) config.value(folder.path);
  config.end_array().key("trust").begin_array();
  for (const PluginPolicy& policy : policies.list) {
    for (const std::string& path : policy.trust) config.value(absolute_path(path));
  }
  config.end_array().key("plugins").begin_array().begin_object();
  config.member("path", plugin.found.path).member("load", "eager");
  if (pinned.options) config.key("options").copy(*pinned.options, false);
  return config.end_object().end_array().end_object().finish();
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

LoadTerms terms_of(const KnownPlugin& plugin, const PolicyStack& policies,
                   std::span<const SearchFolder> folders) {
  LoadTerms terms;
  const PolicyStack::Entry entry = policies.entry(plugin);
  if (entry.plugin != nullptr) terms.pinned = *entry.plugin;
  terms.trust = policies.trust();
  terms.guard = guard_terms(plugin, policies);
  if (policies.guard != nullptr)
    terms.guard.alone = trial_config(plugin, terms.pinned, policies, folders);
  return terms;
}

std::optional<PluginFailure> check_version(const PluginFacts& facts, const std::string& path,
                                           const std::string& range) {
  PluginFailure failure = make_failure(PluginStage::Version, facts.id, path,
                                       "its version differs from the version in the config",
                                       "install a version that fits, or correct `version`");
  try {
    if (VersionRange(range).contains(parse_version(facts.version))) return std::nullopt;
    failure.expected = format_text("version {}", range);
    failure.found = facts.version;
  } catch (const Error& error) {
    failure.problem = error.message;
    failure.remedy = "correct `version`";
  }
  return failure;
}

}  // namespace tenon::core
