// Which preference holds for a call.
#include "core/dispatch/table/provider_preference.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

std::string ProviderPreference::text() const {
  std::vector<std::string> conditions;
  for (const ShapeCondition& one : when)
    conditions.push_back(format_text("{} is {}", one.parameter, one.shape.text()));
  return format_text("{} prefers {}{}{}", source, quote(provider), when.empty() ? "" : " where ",
                     join(conditions, " and "));
}

ProviderPreferences::ProviderPreferences(const Schema& schema,
                                         std::vector<ProviderPreference> preferences) {
  for (ProviderPreference& preference : preferences) {
    Placed placed{std::move(preference), {}, {}};
    placed.text = placed.preference.text();
    for (const ShapeCondition& condition : placed.preference.when) {
      const auto found =
          std::ranges::find(schema.parameters, condition.parameter, &Parameter::name);
      if (found != schema.parameters.end())
        placed.places.push_back(static_cast<size_t>(found - schema.parameters.begin()));
    }
    if (placed.places.size() == placed.preference.when.size())
      preferences_.push_back(std::move(placed));
  }
}

ProviderPreferences::Found ProviderPreferences::find(const tenon_value* arguments) const noexcept {
  for (const Placed& placed : preferences_) {
    bool holds = true;
    for (size_t i = 0; holds && i < placed.places.size(); ++i) {
      const tenon_value& value = arguments[placed.places[i]];
      holds = value.tag == TENON_VALUE_TENSOR && value.as.tensor != nullptr &&
              placed.preference.when[i].shape.contains(*value.as.tensor);
    }
    if (holds) return {&placed.preference, placed.text.c_str()};
  }
  return {};
}

}  // namespace tenon::core
