// Reading the environment.
#include "core/base/environment.hpp"

#include <cstdlib>
#include <strings.h>

#include <sys/auxv.h>

namespace tenon::core {

const char* environment(const char* name) noexcept { return ::secure_getenv(name); }

const char* plugin_folder_advice() noexcept {
  return ::getauxval(AT_SECURE) == 0 ? "name its folder in TENON_PLUGIN_PATH"
                                     : "add its folder with add_plugin_path()";
}

bool says_no(std::string_view text) noexcept {
  for (const std::string_view no : {"0", "false", "off", "no"}) {
    if (text.size() == no.size() && ::strncasecmp(text.data(), no.data(), no.size()) == 0)
      return true;
  }
  return false;
}

}  // namespace tenon::core
