// The rules that plugins have for a format, as TENON_CONVERSIONS wrote them: for what reads the format.
//
//   for_each_conversion_rule("acme", [&](const std::string& plugin, std::string_view rule) {
//     table.add(plugin, rule);
//   });
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "tenon/overridable.hpp"
#include "tenon/schema.hpp"

TENON_NAMESPACE_BEGIN

// Calls visit(format, plugin, rule) for each rule of usable plugins: their lines that are not empty,
// without blanks around them. `plugins`: Document::facts. Any thread.
template <class Visit>
void for_each_conversion_rule(const Json& plugins, Visit&& visit) {
  for (int64_t i = 0; i < plugins.size(); ++i) {
    if (!detail::is_usable(plugins[i])) continue;
    const Json conversions = plugins[i]["facts"]["conversions"];
    const std::string plugin = plugins[i]["id"].text();
    for (int64_t j = 0; j < conversions.size(); ++j) {
      const std::string format = conversions[j]["format"].text();
      const std::string rules = conversions[j]["rules"].text();
      for (size_t start = 0; start < rules.size();) {
        const size_t end = std::min(rules.find('\n', start), rules.size());
        const std::string_view rule =
            detail::trim(std::string_view(rules).substr(start, end - start));
        start = end + 1;
        if (!rule.empty()) visit(format, plugin, rule);
      }
    }
  }
}

// visit(plugin, rule) for those of one format, of all plugins that are found.
template <class Visit>
void for_each_conversion_rule(const char* format, Visit&& visit) {
  for_each_conversion_rule(
      document(Document::facts),
      [&](const std::string& found, const std::string& plugin, std::string_view rule) {
        if (found == format) visit(plugin, rule);
      });
}

TENON_NAMESPACE_END
