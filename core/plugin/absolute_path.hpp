// Paths as messages, locks and policies have them.
#pragma once

#include <string>

namespace tenon::core {

// An absolute path without dots, where there is a current folder to make it from.
std::string absolute_path(const std::string& path);

}  // namespace tenon::core
