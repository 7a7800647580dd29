// Absolute paths.
#include "core/plugin/absolute_path.hpp"

#include <filesystem>
#include <system_error>

namespace tenon::core {

std::string absolute_path(const std::string& path) {
  std::error_code fault;
  auto absolute = std::filesystem::absolute(path, fault).lexically_normal();
  if (!absolute.has_filename()) absolute = absolute.parent_path();
  return fault ? path : absolute.string();
}

}  // namespace tenon::core
