// Stage "second order": backward of backward against differences of backward.
#include <tenon/gradcheck.hpp>

#include "op_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

void check_second_sample(OpCheck& check, const Sample& sample) {
  Differentiable given = check.differentiable(sample);
  if (given.inputs.empty()) return;
  check.listener.trying(sample);
  const auto function = check.function_of(sample, given);
  tenon::GradcheckOptions options = check.gradcheck_options(sample);
  if (!options.check_backward_ad) return;
  options.check_grad_dtypes = options.check_forward_ad = false;
  try {
    tenon::gradgradcheck(function, given.leaves, options);
  } catch (const tenon::GradcheckError& error) {
    check.find("wrong-second-order", error.what(), &sample);
  } catch (const tenon::Error& error) {
    check.find("failing-second-order", error.what(), &sample);
  }
}

}  // namespace

void check_second_order(OpCheck& check) {
  for (const Sample& sample : check.samples) check_second_sample(check, sample);
  if (check.op.differentiable != "formula" || check.op.double_backward != "unknown") return;
  check.listener.note(
      check.found.empty()
          ? "the definition does not say whether its backward may be differentiated; it may: "
            "declare twice_differentiable"
          : "the definition does not say whether its backward may be differentiated: declare "
            "once_differentiable, or fix it and declare twice_differentiable");
}

}  // namespace cli
