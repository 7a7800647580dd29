// The lock of what is there: the plugins that can be used, and what the resolver says of each name.
#pragma once

#include <vector>

#include "core/plugin/plugin_lock.hpp"
#include "core/plugin/resolver.hpp"

namespace tenon::core {

// Reads the files and those of their libraries. With `locked` of its plugins alone; libraries are looked
// for only where a plugin has the locked bytes. Plugins whose libraries are missing are left out, with
// a failure.
PluginLock present_lock(const KnownPlugins& plugins, const Resolver& resolver,
                        const PluginLock* locked, std::vector<PluginFailure>& failures);

}  // namespace tenon::core
