// the document "loadable": the plugins that can be used, and which of them provides each name. What a lock
// of plugins is made of, and compared with.
#pragma once

#include "core/plugin/resolver.hpp"

namespace tenon::core {

// Reads the files for the folders in which they look for libraries; runs none of their code.
Json loadable_document(const KnownPlugins& plugins, const Resolver& resolver);

}  // namespace tenon::core
