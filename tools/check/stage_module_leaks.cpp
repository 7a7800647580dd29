// Stage "leaks" of modules: memory that grows with every call of one instance.
#include "leaking_calls.hpp"
#include "module_check.hpp"

namespace cli {

using tenon::Tensor;

void check_module_leaks(ModuleCheck& check, const ModuleCall& call) {
  if (!call.attributes.leaks) return;
  const tenon::Module made = check.make(call.attributes);
  std::vector<Tensor> parameters;
  for (const auto& [name, parameter] : made.named_parameters()) {
    if (parameter.defined() && parameter.requires_grad()) parameters.push_back(parameter);
  }
  const std::string leak = leak_of(check.call_of(made, call), parameters,
                                   {kWithoutGradients, kDroppedGraph, kWithBackward});
  if (leak.empty()) return;
  const Sample report = call.report();
  check.find("leak", leak, &report);
}

}  // namespace cli
