// Holding calls against rules.
#include "core/dispatch/provider_rule.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

std::string ProviderRule::text() const {
  std::vector<std::string> conditions;
  for (const ShapeCondition& one : when)
    conditions.push_back(format_text("{} is {}", one.parameter, one.shape.text()));
  return format_text("{} prefers {}{}{}", source, quote(provider), when.empty() ? "" : " where ",
                     join(conditions, " and "));
}

ProviderRules::ProviderRules(const Schema& schema, std::vector<ProviderRule> rules) {
  for (ProviderRule& rule : rules) {
    Placed placed{std::move(rule), {}, {}};
    placed.text = placed.rule.text();
    for (const ShapeCondition& condition : placed.rule.when) {
      const auto found =
          std::ranges::find(schema.parameters, condition.parameter, &Parameter::name);
      if (found != schema.parameters.end())
        placed.places.push_back(static_cast<size_t>(found - schema.parameters.begin()));
    }
    if (placed.places.size() == placed.rule.when.size()) rules_.push_back(std::move(placed));
  }
}

ProviderRules::Found ProviderRules::find(const tenon_value* arguments) const noexcept {
  for (const Placed& placed : rules_) {
    bool holds = true;
    for (size_t i = 0; holds && i < placed.places.size(); ++i) {
      const tenon_value& value = arguments[placed.places[i]];
      holds = value.tag == TENON_VALUE_TENSOR && value.as.tensor != nullptr &&
              placed.rule.when[i].shape.contains(*value.as.tensor);
    }
    if (holds) return {&placed.rule, placed.text.c_str()};
  }
  return {};
}

}  // namespace tenon::core
