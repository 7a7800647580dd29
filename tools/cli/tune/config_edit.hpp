// Changing preferences in the text of a config: comments, order and format of the rest stay.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cli {

// An op or pattern, and the JSON texts of the list that its preference becomes; empty: the preference
// goes.
using NewPreference = std::pair<std::string, std::vector<std::string>>;

// The config with these at "ops"/"prefer": in the place of what is there for the name, or before the
// others, which then decide nothing for it. The text is one that the reader of configs has accepted.
std::string with_preferences(const std::string& config,
                             const std::vector<NewPreference>& preferences);

// The changes from one text to another: a unified diff, empty where they are equal.
std::string unified_diff(const std::string& before, const std::string& after,
                         const std::string& name);

}  // namespace cli
