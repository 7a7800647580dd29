// Findings and stages of one item.
#include "item_check.hpp"

#include "process_state.hpp"

namespace cli {

void ItemCheck::find(const std::string& kind, const std::string& message, const Sample* sample) {
  if (!found.insert(kind).second) return;
  listener.finding({kind, stage, message, sample == nullptr ? "" : sample->dump()});
}

void ItemCheck::run_stage(const std::string& name, const std::function<void()>& body) {
  stage = name;
  listener.stage(name);
  const ProcessState before = ProcessState::now();
  body();
  before.restore(
      [&](const std::string& kind, const std::string& message) { find(kind, message, nullptr); });
}

}  // namespace cli
