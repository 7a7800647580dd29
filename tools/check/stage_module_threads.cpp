// Stage "threads" of modules: several threads call one instance in eval mode with different inputs.
#include "calls_together.hpp"
#include "module_check.hpp"
#include "tensors.hpp"

namespace cli {

using tenon::Tensor;

void check_module_threads(ModuleCheck& check, const ModuleCall& call) {
  constexpr int rounds = 12;
  if (!call.attributes.deterministic) return;
  const tenon::Module made = check.make(call.attributes);
  made.eval();
  std::vector<Caller> callers;
  for (size_t i = 0; i < kCallers; ++i) {
    const SampleCall forward = check.call_of(made, call, i);
    callers.push_back({forward, forward.tensors});
  }
  const auto outputs = [&](uint64_t draw) {
    std::vector<Tensor> all;
    for (const Caller& caller : callers) {
      for (const Tensor& output : readable(tensors_of(caller.call(copied(caller.tensors), draw))))
        all.push_back(output);
    }
    return all;
  };
  try {
    // Random draws, and state from the call before, depend on the order of the calls.
    if (!difference(outputs(1), outputs(2), kExact).empty()) return;
  } catch (const tenon::Error&) {  // some inputs are refused
    return;
  }
  const std::string breach = difference_together(callers, rounds, false);
  if (breach.empty()) return;
  const Sample report = call.report();
  check.find("threads", breach, &report);
}

}  // namespace cli
