// Patterns of preferences, and preferences from the environment.
#include "core/plugin/resolve/policy.hpp"

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/facts/facts_reader.hpp"

namespace tenon::core {

bool matches(const PluginPolicy::Preference& preference, const PreferenceTarget& target) {
  return matches_pattern(preference.pattern,
                         preference.about_overrides() ? target.key : target.name);
}

std::string canonical_pattern(const std::string& pattern) {
  const size_t bracket = pattern.find('[');
  if (bracket == pattern.npos || !pattern.ends_with(']')) return pattern;
  return override_key(pattern.substr(0, bracket),
                      pattern.substr(bracket + 1, pattern.size() - bracket - 2));
}

std::vector<PluginPolicy::Preference> parse_preferences(std::string_view text,
                                                        std::vector<std::string>& faults) {
  std::vector<PluginPolicy::Preference> preferences;
  while (!text.empty()) {
    bool within = false;
    size_t end = 0;
    for (; end < text.size() && (within || text[end] != ','); ++end) {
      if (text[end] == '[' || text[end] == ']') within = text[end] == '[';
    }
    const std::string_view entry = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t equals = entry.find('=');
    const std::string_view pattern = schema_name(entry.substr(0, equals));
    const std::string_view plugin =
        equals == entry.npos ? "" : schema_name(entry.substr(equals + 1));
    if (pattern.find('@') != pattern.npos) {
      faults.push_back(format_text(
          "{} is not a preference: a version belongs to the plugin, as in 'cube.solve=cube@1.2.0'",
          quote(entry)));
    } else if (!pattern.empty() && !plugin.empty()) {
      preferences.push_back({canonical_pattern(std::string(pattern)), std::string(plugin)});
    } else if (!schema_name(entry).empty()) {
      faults.push_back(
          format_text("{} is not a preference, expected PATTERN=PLUGIN", quote(entry)));
    }
  }
  return preferences;
}

std::string place_in(const Json& written, std::string_view pointer) {
  if (!written) return {};
  const tenon_json* member = json_at_pointer(*written, pointer);
  return place_of(member == nullptr ? *written : *member);
}

}  // namespace tenon::core
