#include "core/plugin/facts/paths.hpp"

#include <dlfcn.h>
#include <filesystem>
#include <system_error>

namespace tenon::core {

std::string absolute_path(const std::string& path) {
  std::error_code fault;
  auto absolute = std::filesystem::absolute(path, fault).lexically_normal();
  if (!absolute.has_filename()) absolute = absolute.parent_path();
  return fault ? path : absolute.string();
}

const std::string& own_file() {
  static const char anchor = 0;
  static const auto& file = *new std::string([] {
    Dl_info library{};
    if (::dladdr(&anchor, &library) == 0 || library.dli_fname == nullptr) return std::string();
    std::error_code fault;
    const auto path = std::filesystem::canonical(library.dli_fname, fault);
    return fault ? std::string() : path.string();
  }());
  return file;
}

}  // namespace tenon::core
