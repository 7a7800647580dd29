// Registrations of a plugin compared with the declarations in its file.
#pragma once

#include <string>

#include "core/plugin/facts_reader.hpp"
#include "tenon/abi/plugin.h"

namespace tenon::core {

// Throws PluginError, stage register, for descriptors that cannot be used, and for all that is declared
// and not registered, registered and not declared, or registered otherwise.
void compare_items(const PluginFacts& facts, const std::string& path, const tenon_plugin& plugin);

}  // namespace tenon::core
