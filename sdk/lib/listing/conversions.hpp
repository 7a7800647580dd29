// Rules of conversions, as plugins declare them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <tenon/schema.hpp>

#include "inventory.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

// Calls visit(format, plugin, rule) for each rule of usable plugins: their lines that are not empty.
template <class Visit>
void each_rule(const Json& plugins, const Visit& visit) {
  for (int64_t i = 0; i < plugins.size(); ++i) {
    if (!tenon::detail::is_usable(plugins[i])) continue;
    const Json conversions = plugins[i]["facts"]["conversions"];
    const std::string plugin = plugins[i]["id"].text();
    for (int64_t j = 0; j < conversions.size(); ++j) {
      const std::string format = conversions[j]["format"].text();
      const std::string rules = conversions[j]["rules"].text();
      for (size_t start = 0; start < rules.size();) {
        const size_t end = std::min(rules.find('\n', start), rules.size());
        const std::string_view rule =
            tenon::detail::trim(std::string_view(rules).substr(start, end - start));
        start = end + 1;
        if (!rule.empty()) visit(format, plugin, rule);
      }
    }
  }
}

// Name of the op that a rule, OPERATOR:SINCE(INPUTS) = OP(ARGUMENTS), calls; empty for another text.
inline std::string called_op(std::string_view rule) {
  const size_t sign = rule.find_first_of("=~", rule.find(')'));
  if (sign == std::string_view::npos) return "";
  const std::string_view call = tenon::detail::trim(rule.substr(sign + 1));
  return std::string(call.substr(0, call.find('(')));
}

}  // namespace listing

TENON_NAMESPACE_END
