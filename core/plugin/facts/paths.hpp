// Paths of plugins, as messages, locks and policies have them.
#pragma once

#include <string>
#include <string_view>

namespace tenon::core {

// An absolute path without dots, where there is a current folder to make it from.
std::string absolute_path(const std::string& path);

// Whether a plugin is named by its file: ids hold no '/' and do not end in ".so".
inline bool is_plugin_path(std::string_view name) {
  return name.find('/') != name.npos || name.ends_with(".so");
}

// The file that holds this code, without symbolic links: libtenon, but for unit tests, which link it.
// Empty when it is not known. Does not change while the process runs. [any-thread]
const std::string& own_file();

}  // namespace tenon::core
