// What a config says of a tensor type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/abi/type.h"

namespace tenon::core {

// Patterns are names of ops in which '*' stands for any text.
struct TypeSettings {
  uint32_t fallback = TENON_FALLBACK_INHERIT;
  std::vector<std::string> fallback_allow;  // ops that fall back; empty: all
  std::vector<std::string> fallback_deny;   // ops that do not, allowed or not
  std::vector<std::string> covers;          // the ops that it is meant for; empty: all
};

}  // namespace tenon::core
