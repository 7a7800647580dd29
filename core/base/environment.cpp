// Reading the environment.
#include "core/base/environment.hpp"

#include <cstdlib>
#include <strings.h>

namespace tenon::core {

const char* environment(const char* name) noexcept { return ::secure_getenv(name); }

bool says_no(std::string_view text) noexcept {
  for (const std::string_view no : {"0", "false", "off", "no"}) {
    if (text.size() == no.size() && ::strncasecmp(text.data(), no.data(), no.size()) == 0)
      return true;
  }
  return false;
}

}  // namespace tenon::core
