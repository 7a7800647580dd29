// Stage "second order": backward of backward against differences of backward.
#include <tenon/gradcheck.hpp>

#include "format.hpp"
#include "op_check.hpp"
#include "recorded_call.hpp"

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
    if (too_coarse(function, given.leaves)) return;
    tenon::gradgradcheck(function, given.leaves, options);
  } catch (const tenon::GradcheckError& error) {
    check.find("wrong-second-order", error.what(), &sample);
  } catch (const tenon::Error& error) {
    check.find("failing-second-order", error.what(), &sample);
  }
}

// The gradient of a sum of gradients.
std::vector<Tensor> second_gradients(const SampleCall& call, const std::vector<Tensor>& values) {
  const RecordedCall graph(call, values);
  return graph.second_gradients();
}

// f32 gives the second order of f64 but for rounding.
void check_singles(OpCheck& check, const Sample& sample) {
  constexpr Tolerance tolerance{1e-4, 2e-3, true};
  if (!sample.precision || !sample.deterministic || check.mutates(sample) ||
      !sample.gradcheck.check_backward_ad)
    return;
  const SampleCall call = check.call_of(sample);
  check.listener.trying(sample);
  try {
    const std::vector<Tensor> expected = second_gradients(call, copied(call.tensors));
    const std::vector<Tensor> found = second_gradients(call, in_single(copied(call.tensors)));
    const std::string what = difference(expected, found, tolerance);
    if (!what.empty())
      check.find("wrong-second-order",
                 format_text("once in f64 and once in f32, the second gradient of input{}", what),
                 &sample);
  } catch (const tenon::Error& error) {
    check.find("failing-second-order", error.what(), &sample);
  }
}

}  // namespace

void check_second_order(OpCheck& check) {
  for (const Sample& sample : check.samples) check_second_sample(check, sample);
  if (check.found.empty() && !check.random) {
    for (const Sample& sample : check.samples) check_singles(check, sample);
  }
  if (check.op.differentiable != "formula" || check.op.double_backward != "unknown") return;
  check.listener.note(
      check.found.empty()
          ? "the definition does not say whether its backward may be differentiated; it may: "
            "declare twice_differentiable"
          : "the definition does not say whether its backward may be differentiated: declare "
            "once_differentiable, or fix it and declare twice_differentiable");
}

}  // namespace cli
