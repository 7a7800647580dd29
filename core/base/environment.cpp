// Reading the environment.
#include "core/base/environment.hpp"

#include <cstdlib>

namespace tenon::core {

const char* environment(const char* name) noexcept { return ::secure_getenv(name); }

bool says_yes(std::string_view text) noexcept {
  return text == "1" || text == "true" || text == "on" || text == "yes";
}

}  // namespace tenon::core
