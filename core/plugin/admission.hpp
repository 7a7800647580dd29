// Whether policies, guard and host accept a plugin, and on which terms its file is opened.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/plugin/guard.hpp"
#include "core/plugin/path_trust.hpp"
#include "core/plugin/policy_stack.hpp"
#include "tenon/abi/plugin.h"

namespace tenon::core {

struct Admission {
  PluginState state = PluginState::Indexed;  // or Failed, Excluded, Shadowed
  std::string reason;
  std::optional<PluginFailure> failure;
};
// Of a plugin none of whose code has run. The guard may look at its signature, and at what is known of
// its bytes; no one looks further into its file.
Admission admit(const KnownPlugin& plugin, const PolicyStack& policies, const tenon_host& host);

// What the guard is given to judge a plugin by.
GuardTerms guard_terms(const KnownPlugin& plugin, const PolicyStack& policies);

// The terms of policies for one load.
struct LoadTerms {
  PluginPolicy::Plugin pinned;
  PathTrust trust;
  GuardTerms guard;
};
// `folders`: where a trial of the plugin, alone in a process, finds what it may need in its init.
LoadTerms terms_of(const KnownPlugin& plugin, const PolicyStack& policies,
                   std::span<const SearchFolder> folders);

// Of the versions that a policy accepts.
std::optional<PluginFailure> check_version(const PluginFacts& facts, const std::string& path,
                                           const std::string& range);

}  // namespace tenon::core
