// All that was said about plugins, by configs, by the environment and by calls, and whether that, guard and
// host accept a plugin.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/plugin/facts/catalogue.hpp"
#include "core/plugin/load/guard.hpp"
#include "core/plugin/resolve/known_plugin.hpp"
#include "core/plugin/resolve/policy.hpp"
#include "tenon/abi/plugin.h"

namespace tenon::core {

struct PolicyStack {
  PluginPolicy environment;        // preferences of TENON_PREFER
  bool autoload = true;            // TENON_PLUGIN_AUTOLOAD
  std::vector<PluginPolicy> list;  // the newest first

  std::vector<std::string> folders;    // folders of add_search_path, the newest first
  std::vector<std::string> files;      // files of load(), the newest first
  std::vector<std::string> versions;   // versions of load(): "cube@1.2.0", the oldest first
  std::shared_ptr<const Guard> guard;  // of the application; null: none

  struct Entry {
    const PluginPolicy::Plugin* plugin = nullptr;
    const PluginPolicy* policy = nullptr;
  };
  Entry entry(const KnownPlugin& plugin) const;
  const PluginPolicy::Preference* disabling(const KnownPlugin& plugin,
                                            const PreferenceTarget& target,
                                            std::string* source = nullptr) const;
  // The one among `candidates` that the first matching preference prefers; `reason` says which
  // preference.
  const KnownPlugin* preferred(const PreferenceTarget& target, const KnownPlugins& candidates,
                               std::string* reason = nullptr) const;
  // Preferences for some calls of an op, up to one that decides for all; the first that holds decides.
  struct CallPreference {
    const PluginPolicy::Preference* preference;
    const KnownPlugin* plugin;
    std::string source;
  };
  bool prefers_for_calls() const;
  std::vector<CallPreference> preferred_for_calls(const PreferenceTarget& target,
                                                  const KnownPlugins& candidates) const;
  // The one whose place in a policy's list decides, where a policy says so.
  const KnownPlugin* by_place(const KnownPlugins& candidates, std::string* reason = nullptr) const;

  // Whether nothing but a policy's list or a load by name may use what is found in folders.
  bool is_autoload_off() const;
  // Files and folders that policies allow no matter who can change them.
  PathTrust trust() const;
  // Documents that the guard has kept of the policies that say something to it, the newest first.
  std::vector<Json> guard_documents() const;
  // The source of a policy that needs a guard while none is set; empty: there is none.
  std::string guard_needed_by() const;
  bool is_strict() const;
  // The search that the catalogue makes.
  Search search() const;
};

struct Admission {
  PluginState state = PluginState::Indexed;  // or Failed, Excluded, Shadowed
  std::string reason;
  std::optional<PluginFailure> failure;
};
// Judges a plugin none of whose code has run. The guard may look at its signature, and at what is known
// of its bytes; nothing looks further into its file.
Admission admit(const KnownPlugin& plugin, const PolicyStack& policies, const tenon_host& host);

// Data that the guard judges a plugin by.
GuardTerms guard_terms(const KnownPlugin& plugin, const PolicyStack& policies);

// The failure of a version outside of those that a policy accepts.
std::optional<PluginFailure> check_version(const PluginFacts& facts, const std::string& path,
                                           const std::string& range);

}  // namespace tenon::core
