// Checks of "plugins" that no schema can express.
#pragma once

#include <string>

#include "faults.hpp"

TENON_NAMESPACE_BEGIN

namespace config {

// One of name and path, no plugin twice, files that exist. `folder`: where relative paths start.
void check_plugin_list(ConfigNode config, const std::string& folder, Faults& faults);

// `path` as an absolute path.
std::string absolute_path(const std::string& folder, std::string_view path);

}  // namespace config

TENON_NAMESPACE_END
