// Stage "leaks": memory that grows with every call.
#include "leaking_calls.hpp"
#include "op_check.hpp"

namespace cli {

void check_leaks(OpCheck& check) {
  const Sample& sample = check.samples[0];
  if (!sample.leaks) return;
  check.listener.trying(sample);
  std::vector<Usage> usages = {kWithoutGradients};
  if (check.op.differentiable != "none")
    usages.insert(usages.end(), {kDroppedGraph, kWithBackward, kForwardMode});
  if (sample.layouts && sample.precision) usages.push_back(kStridedSingles);
  usages.insert(usages.end(), {kEmptyTensors, kRefusedDtypes});
  const std::string leak = leak_of(check.call_of(sample), {}, usages);
  if (!leak.empty()) check.find("leak", leak, &sample);
}

}  // namespace cli
