// Plugins as documents: for load guards, and for locks of plugins.
#pragma once

#include "core/base/json.hpp"
#include "core/plugin/resolve/resolver.hpp"

namespace tenon::core {

// Declarations of a plugin: {id, version, ops, modules, types, overrides}; tenon/abi/guard.h has the
// members.
Json facts_document(const PluginFacts& facts);

// The document "loadable": the plugins that can be used, and which of them provides each name. Reads the
// files for the folders in which they look for libraries; runs none of their code.
Json loadable_document(const KnownPlugins& plugins, const Resolver& resolver);

}  // namespace tenon::core
