// Stage "leaks": memory that grows with every call.
#include "leaking_calls.hpp"
#include "op_check.hpp"

namespace cli {

void check_leaks(OpCheck& check) {
  const Sample& sample = check.samples[0];
  if (!sample.leaks) return;
  check.listener.trying(sample);
  std::vector<Usage> usages = {kWithoutGradients, kEmptyTensors};
  if (check.op.differentiable != "none")
    usages.insert(usages.end() - 1, {kDroppedGraph, kWithBackward});
  const std::string leak = leak_of(check.call_of(sample), {}, usages);
  if (!leak.empty()) check.find("leak", leak, &sample);
}

}  // namespace cli
