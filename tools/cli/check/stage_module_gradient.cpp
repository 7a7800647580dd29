// Stage "gradient" of modules: every parameter gets one.
#include <tenon/autograd.hpp>

#include "format.hpp"
#include "module_check.hpp"
#include "tensors.hpp"
#include "text.hpp"

namespace cli {

using tenon::Tensor;

void check_module_gradient(ModuleCheck& check, const ModuleCall& call) {
  const tenon::Module made = check.make(call.attributes);
  const SampleCall forward = check.call_of(made, call);
  bool any = false;
  for (const Tensor& output : readable(tensors_of(forward(forward.tensors)))) {
    if (!output.defined() || !tenon::is_floating(output.dtype()) || !output.requires_grad())
      continue;
    any = true;
    const Tensor seed = tenon::empty_tensor(output.shape(), output.dtype());
    tenon::fill_elements(seed, 1);
    output.backward(seed, true);
  }
  if (!any) return;
  std::vector<std::string> unreached;
  for (const auto& [name, parameter] : made.named_parameters()) {
    if (parameter.defined() && parameter.requires_grad() && !parameter.grad().defined())
      unreached.push_back(format_text("'{}'", name));
  }
  if (unreached.empty()) return;
  const Sample report = call.report();
  check.find("unreached-parameter",
             format_text("backward from the output leaves {} without a gradient: {}",
                         counted(static_cast<int64_t>(unreached.size()), "parameter"),
                         join(unreached, ", ")),
             &report);
}

}  // namespace cli
