// Differences between two builds of a plugin that callers would notice, from the facts of both.
#pragma once

#include <string>
#include <vector>

#include "core/plugin/facts_reader.hpp"

namespace tenon::core {

struct CompatibilityChange {
  bool breaks = false;  // a caller of the old one fails, or computes something else
  std::string kind;     // "plugin", "op", "module", "type" or "override"
  std::string name;
  std::string what;  // "its parameter 'dim' has moved from place 2 to 3"
};

// Breaking changes come first, then additions; each in the order of the old facts, then of the new.
// Throws ValueError for a schema that cannot be read.
std::vector<CompatibilityChange> compare_plugins(const PluginFacts& old_facts,
                                                 const PluginFacts& new_facts);

// Whether semantic versioning lets `new_version` break callers of `old_version`: another major
// version, or below 1.0.0 another minor one.
bool version_may_break(const std::string& old_version, const std::string& new_version);

}  // namespace tenon::core
