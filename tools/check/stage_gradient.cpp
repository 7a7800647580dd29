// Stage "gradient": backward against differences; what it borrows stays as it is.
#include <algorithm>

#include <tenon/gradcheck.hpp>

#include "format.hpp"
#include "op_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

constexpr int64_t kMostInFull = 128;  // elements of inputs; above: fast mode

// Gradients and saved tensors are lent to backward, not given.
bool check_borrowed(OpCheck& check, const Sample& sample,
                    const tenon::detail::CheckedFunction& function, const Differentiable& given) {
  const tenon::EnableGrad scope;
  std::vector<Tensor> roots;
  tenon::GradientOptions options;
  for (const Tensor& output : function(given.leaves)) {
    if (!output.defined() || !output.requires_grad()) continue;
    roots.push_back(output);
    options.seeds.push_back(tenon::detail::arbitrary_like(output, roots.size()));
  }
  if (roots.empty()) return true;
  options.allow_unused = true;
  std::vector<Tensor> all = options.seeds;
  all.insert(all.end(), given.leaves.begin(), given.leaves.end());
  const auto before = bytes_of(all);
  const auto results_before = bytes_of(roots);
  tenon::gradients(roots, given.leaves, options);
  const auto after = bytes_of(all);
  bool sound = true;
  for (size_t i = 0; i < all.size(); ++i) {
    if (after[i] == before[i]) continue;
    sound = false;
    if (i < options.seeds.size()) {
      check.find("changed-gradient",
                 format_text("backward changes the gradient of result {} that it is handed", i),
                 &sample);
    } else {
      check.find(
          "changed-input",
          format_text(
              "backward changes the argument '{}' of the call",
              sample.values[given.call.places[given.inputs[i - options.seeds.size()]].value].name),
          &sample);
    }
  }
  if (bytes_of(roots) != results_before) {
    sound = false;
    check.find("changed-input", "backward changes a result of the call", &sample);
  }
  return sound;
}

void check_backward(OpCheck& check, const Sample& sample) {
  Differentiable given = check.differentiable(sample);
  if (given.inputs.empty()) return;
  const auto function = check.function_of(sample, given);
  check.listener.trying(sample);
  tenon::GradcheckOptions options = check.gradcheck_options(sample);
  options.check_forward_ad = false;
  if (!options.check_backward_ad) return;
  try {
    // A rule that writes where it must not is repeatable no more.
    if (!check_borrowed(check, sample, function, given)) return;
    if (too_coarse(function, given.leaves))
      return check.listener.note("its numbers are f16 or bf16, too coarse for differences");
    tenon::gradcheck(function, given.leaves, options);
  } catch (const tenon::GradcheckError& error) {
    const bool cut = contains_text(error.what(), "no output requires grad");
    check.find(cut ? "cut-graph" : "wrong-gradient", error.what(), &sample);
  } catch (const tenon::Error& error) {
    check.find_failing_rule("failing-gradient", error, sample);
  }
}

}  // namespace

Differentiable OpCheck::differentiable(const Sample& sample) const {
  Differentiable result{call_of(sample), {}, {}};
  for (size_t t = 0; t < result.call.tensors.size(); ++t) {
    if (!result.call.places[t].requires_grad) continue;
    result.inputs.push_back(t);
    result.leaves.push_back(result.call.tensors[t]);
    result.leaves.back().requires_grad_();
  }
  return result;
}
// The op as a function of its differentiable operands. What it changes in place is cloned first.
tenon::detail::CheckedFunction OpCheck::function_of(const Sample& sample,
                                                    Differentiable& given) const {
  std::vector<bool> cloned;
  for (const size_t t : given.inputs) {
    const DeclaredType& type = parameter_of(sample, given.call.places[t].value);
    cloned.push_back(type.mutates || mutated.count(type.name) > 0);
  }
  const SampleCall& call = given.call;
  const std::vector<size_t>& inputs = given.inputs;
  return [&call, &inputs, cloned](const std::vector<Tensor>& values) {
    std::vector<Tensor> tensors;
    for (const Tensor& tensor : call.tensors)
      tensors.push_back(tensor.defined() ? tensor.detach() : tensor);
    for (size_t i = 0; i < inputs.size(); ++i) {
      tensors[inputs[i]] = cloned[i] ? tenon::Op("clone").call<Tensor>(values[i]) : values[i];
    }
    // Operands that are changed without being checked start from the same values each time.
    for (size_t t = 0; t < tensors.size(); ++t) {
      if (std::find(inputs.begin(), inputs.end(), t) == inputs.end() && tensors[t].defined())
        tensors[t] = converted(tensors[t], tensors[t].dtype());
    }
    std::vector<Tensor> outputs = readable(tensors_of(call(tensors)));
    outputs.erase(std::remove_if(outputs.begin(), outputs.end(),
                                 [](const Tensor& output) { return !output.defined(); }),
                  outputs.end());
    return outputs;
  };
}

tenon::GradcheckOptions OpCheck::gradcheck_options(const Sample& sample) const {
  tenon::GradcheckOptions options = sample.gradcheck;
  options.name = op.name;
  int64_t elements = 0;
  for (const SampleValue& value : sample.values) {
    for (const TensorSpec& spec : value.tensors) {
      int64_t count = 1;
      for (const int64_t size : spec.shape) count *= size;
      elements += count;
    }
  }
  options.fast_mode = options.fast_mode || elements > kMostInFull;
  return options;
}

void check_gradients(OpCheck& check) {
  if (check.op.differentiable == "none" && !check.op.zero_gradient) {
    check.find("missing-gradient",
               "floating results of floating inputs, but no gradient is declared: calling it with "
               "an input that requires grad is an error",
               check.samples.data());
    return;
  }
  for (const Sample& sample : check.samples) check_backward(check, sample);
}

}  // namespace cli
