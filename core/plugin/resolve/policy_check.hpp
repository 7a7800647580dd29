// Refusals of a policy: all faults at once, and nothing changes.
#pragma once

#include <span>
#include <vector>

#include "core/plugin/resolve/resolver.hpp"

namespace tenon::core {

// Input of the check of a policy: the plugins, as they are with the policy in front of the stack.
struct PolicyCheckInput {
  const KnownPlugins& plugins;
  std::span<const SearchFolder> folders;
  const PolicyStack& policies;
  const Registrations& registrations;
  const Resolver& resolver;
};

// The plugin that an entry of a policy means. Null: it is missing, and not required. Throws PluginError
// when it is missing, or another file stands for it.
const KnownPlugin* plugin_of(const PluginPolicy::Plugin& entry, const KnownPlugins& plugins,
                             std::span<const SearchFolder> folders, const std::string& source);

// Checks the first policy of the stack. Reads files: hashes of those that are pinned or locked.
std::vector<PluginFailure> check_policy(const PolicyCheckInput& input);

}  // namespace tenon::core
