// What a config says of a tensor type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.hpp"
#include "tenon/abi/type.h"

namespace tenon::core {

// Patterns are names of ops in which '*' stands for any text.
struct TypeSettings {
  uint32_t fallback = TENON_FALLBACK_INHERIT;
  std::vector<std::string> fallback_allow;  // ops that fall back; empty: all
  std::vector<std::string> fallback_deny;   // ops that do not, allowed or not
  std::vector<std::string> covers;          // the ops that it is meant for; empty: all

  bool covers_op(std::string_view op) const { return covers.empty() || any_matches(covers, op); }
  bool lets_fall_back(std::string_view op) const {
    return (fallback_allow.empty() || any_matches(fallback_allow, op)) &&
           !any_matches(fallback_deny, op);
  }
};

}  // namespace tenon::core
