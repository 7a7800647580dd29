// The report of a check: kinds of findings with their remedies, and the report as text and as a
// document.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/json.hpp>

namespace cli {

// A kind of finding, named in reports and tests. Unknown kinds have an empty remedy.
std::string_view remedy_of(std::string_view kind);
// The expectation that a finding of this kind contradicts.
std::string_view expectation_of(std::string_view kind);

struct Finding {
  std::string kind;
  std::string stage;
  std::string message;
  std::string sample;  // JSON of the arguments; empty: none were at hand
};

// One op, module, type, override or rewrite, or the plugin as a whole.
struct CheckedItem {
  std::string name;
  std::string kind;  // "op", "module", "type", "override", "rewrite", "plugin"
  std::vector<Finding> findings;
  std::vector<std::string> notes;
  std::vector<std::string> stages;
  std::string skipped;  // why nothing could be checked
  int64_t samples = 0;
  tenon::Json against;  // how it compares with another provider; undefined: with none
};

struct CheckReport {
  std::string plugin, version, path;
  std::vector<CheckedItem> items;
  double seconds = 0;
  bool isolated = false;  // the plugin ran in its own process namespace

  size_t count(bool (*which)(const CheckedItem&)) const;
  bool faulty() const;
};

std::string item_text(const CheckedItem& item, bool in_full);
std::string summary_text(const CheckReport& report);
tenon::Json report_json(const CheckReport& report);

}  // namespace cli
