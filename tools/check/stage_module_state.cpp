// Stage "state" of modules: what is saved and loaded into another instance computes the same.
#include <tenon/state/module_file.hpp>

#include "format.hpp"
#include "module_check.hpp"
#include "tensors.hpp"

namespace cli {

using tenon::Module;
using tenon::Tensor;

void check_module_state(ModuleCheck& check, const ModuleCall& call) {
  const auto outputs = [&](const Module& module) {
    const SampleCall forward = check.call_of(module, call);
    return readable(tensors_of(forward(forward.tensors)));
  };
  const std::string file = format_text("{}/state.safetensors", check.settings.folder);
  const Module made = check.make(call.attributes);
  outputs(made);  // in training it may change its buffers
  made.eval();
  const std::vector<Tensor> expected = outputs(made);
  tenon::state::save(made, file);
  const Module other = check.make(call.attributes, 1);
  tenon::state::load(other, file);
  other.eval();
  const std::string what = difference(expected, outputs(other), kExact);
  if (what.empty()) return;
  const Sample report = call.report();
  check.find("state",
             format_text("once before it is saved and once loaded into another instance, the "
                         "result{}",
                         what),
             &report);
}

}  // namespace cli
