#include "core/plugin/own_file.hpp"

#include <dlfcn.h>
#include <filesystem>
#include <system_error>

namespace tenon::core {

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
