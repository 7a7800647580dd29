// The error for a name that no plugin declares.
#pragma once

#include <string_view>

#include "core/plugin/plugin_manager.hpp"

namespace tenon::core {

// Throws ValueError: with the full name of which `name` is the last part, what else carries it, or a
// similar name; the folders that were searched, and the plugins that were refused.
[[noreturn]] void throw_unknown(PluginManager& manager, ItemKind kind, std::string_view name);

}  // namespace tenon::core
