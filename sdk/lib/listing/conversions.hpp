// Rules of conversions, as plugins declare them.
#pragma once

#include <string>
#include <string_view>

#include <tenon/conversion_rules.hpp>

#include "inventory.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

// Name of the op that a rule, OPERATOR:SINCE(INPUTS) = OP(ARGUMENTS), calls; empty for another text.
inline std::string called_op(std::string_view rule) {
  const size_t sign = rule.find_first_of("=~", rule.find(')'));
  if (sign == std::string_view::npos) return "";
  const std::string_view call = tenon::detail::trim(rule.substr(sign + 1));
  return std::string(call.substr(0, call.find('(')));
}

}  // namespace listing

TENON_NAMESPACE_END
