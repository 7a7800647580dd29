// Whether policies and this host take a plugin, and on which terms its file is opened.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.hpp"
#include "core/plugin/approval.hpp"
#include "core/plugin/policy_stack.hpp"
#include "core/plugin/quarantine.hpp"
#include "core/plugin/sealed_file.hpp"
#include "tenon/abi/plugin.h"

namespace tenon::core {

struct Admission {
  PluginState state = PluginState::Indexed;  // or Failed, Excluded, Shadowed
  std::string reason;
  std::optional<PluginFailure> failure;
};
// Judges a plugin none of whose code has run. Looks at its signature and into quarantine, not
// further into its file.
Admission admit(const KnownPlugin& plugin, const PolicyStack& policies, const tenon_host& host,
                Quarantine& quarantine);

// The terms of policies for one load.
struct LoadTerms {
  PluginPolicy::Plugin pinned;
  std::vector<std::shared_ptr<const PluginLock>> locks;
  Approval approval;
  Json trial;  // config of a trial; null: no quarantine is kept

  // Whether bytes are judged, so that those which are mapped have to be a private copy.
  bool judge_bytes() const {
    return !pinned.sha256.empty() || !locks.empty() || approval.judges_bytes();
  }
};
// `folders`: where a trial finds what the plugin may need in its init.
LoadTerms terms_of(const KnownPlugin& plugin, const PolicyStack& policies,
                   const Quarantine& quarantine, std::span<const SearchFolder> folders);

// Checks of pins of a policy: the hash of a file, "" for any, and the versions that it takes.
std::optional<PluginFailure> check_hash(const std::string& id, const std::string& path,
                                        const std::string& expected);
std::optional<PluginFailure> check_hash(const std::string& id, const SealedFile& file,
                                        const std::string& path, const std::string& expected);
std::optional<PluginFailure> check_version(const PluginFacts& facts, const std::string& path,
                                           const std::string& range);

}  // namespace tenon::core
