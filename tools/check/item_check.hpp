// Shared state of the checks of one item: findings, and stages around which the process is
// compared.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "item.hpp"

namespace cli {

class ItemCheck {
 public:
  ItemCheck(const CheckSettings& settings_of, CheckListener& listener_of)
      : settings(settings_of), listener(listener_of) {}

  const CheckSettings& settings;
  CheckListener& listener;
  std::string stage;
  std::set<std::string> found;  // kinds of findings: one report of each is enough

  // Reports, unless there is a finding of that kind already.
  void find(const std::string& kind, const std::string& message, const Sample* sample);
  // Runs `body`; a change of the process that it leaves is a finding.
  void run_stage(const std::string& name, const std::function<void()>& body);
};

inline bool contains_text(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace cli
