// Stage "gradient" of overrides: that of the op for the converted operands.
#include <algorithm>

#include <tenon/gradcheck_numbers.hpp>
#include <tenon/typed_tensor.hpp>

#include "format.hpp"
#include "override_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

// The operands of one call, with a history from what they are made of.
struct RecordedOperands {
  std::vector<Tensor> operands, leaves;
  std::vector<std::string> names;  // names of the leaves

  void add_leaf(const Tensor& leaf, const std::string& name) {
    leaves.push_back(leaf);
    names.push_back(name);
  }
};

// From the tensors that its op takes; where that records nothing, the object is a leaf.
Tensor recorded_object(const ObjectSource& source, uint64_t seed, const std::string& name,
                       RecordedOperands& recorded) {
  SampleCall call = source.call(seed);
  for (size_t t = 0; t < call.tensors.size(); ++t) {
    if (!call.places[t].requires_grad) continue;
    call.tensors[t].requires_grad_();
    recorded.add_leaf(call.tensors[t], name);
  }
  Tensor object = source.make(call, call.tensors);
  if (object.requires_grad()) return object;
  try {
    Tensor leaf = object.detach();
    leaf.requires_grad_();
    recorded.add_leaf(leaf, name);
    return leaf;
  } catch (const tenon::Error&) {  // its objects have no gradients
  }
  return object;
}

RecordedOperands record(const OverrideCheck& check, const AnsweredCall& answered,
                        const SampleCall& call) {
  RecordedOperands recorded;
  for (size_t t = 0; t < call.tensors.size(); ++t) {
    const std::string& name = answered.sample.values[call.places[t].value].name;
    if (const ObjectSource* source = answered.source_of(name)) {
      recorded.operands.push_back(
          recorded_object(*source, check.settings.seed + t, name, recorded));
      continue;
    }
    recorded.operands.push_back(copied(call.tensors[t]));
    if (!call.places[t].requires_grad) continue;
    recorded.operands.back().requires_grad_();
    recorded.add_leaf(recorded.operands.back(), name);
  }
  return recorded;
}

// Gradients of the leaves, and results; `any`: whether a result requires grad at all.
std::vector<Tensor> gradients_of(const SampleCall& call, const std::vector<Tensor>& operands,
                                 const std::vector<Tensor>& leaves, bool& any,
                                 std::vector<Tensor>& results) {
  std::vector<Tensor> roots;
  tenon::GradientOptions options;
  results = readable(tensors_of(call(operands)));
  for (size_t r = 0; r < results.size(); ++r) {
    if (!results[r].defined() || !results[r].requires_grad()) continue;
    roots.push_back(results[r]);
    options.seeds.push_back(tenon::detail::arbitrary_like(results[r], r + 1));
  }
  any = !roots.empty();
  if (roots.empty()) return std::vector<Tensor>(leaves.size());
  options.allow_unused = options.retain_graph = options.materialize_grads = true;
  return readable(tenon::gradients(roots, leaves, options));
}

void check_gradient(OverrideCheck& check, const AnsweredCall& answered) {
  const Sample report = answered.report();
  const SampleCall call = check.call_of(answered);
  const tenon::EnableGrad scope;
  check.listener.trying(report);
  RecordedOperands recorded;
  std::vector<Tensor> expected, expected_results, found_results;
  bool any = false;
  try {
    recorded = record(check, answered, call);
    const std::vector<Tensor> converted = converted_operands(recorded.operands);
    if (recorded.leaves.empty() || converted.empty()) return;
    expected = gradients_of(call, converted, recorded.leaves, any, expected_results);
  } catch (const tenon::Error&) {  // a finding of the op, or of a type
    return;
  }
  if (!any) return;
  const std::string order = order_text(answered.operands);
  try {
    bool differentiable = false;
    const std::vector<Tensor> found =
        gradients_of(call, recorded.operands, recorded.leaves, differentiable, found_results);
    // A number where the op returns a tensor was compared with recording off.
    const bool alike = found_results.size() == expected_results.size();
    if (const std::string what = difference(found_results, expected_results, kOtherDtype);
        alike && !what.empty())
      check.find(
          "gradient-mode",
          format_text("on {}, while gradients are recorded, once by the override and once by "
                      "the op on the converted operands, the result{}",
                      order, what),
          &report);
    if (!differentiable)
      return check.listener.note(
          format_text("on {} its result does not require grad, that of the op does", order));
    // Gradients of f64 went through the dtype of the results.
    Tolerance room = kOtherDtype;
    for (size_t r = 0; r < std::min(found_results.size(), expected_results.size()); ++r) {
      const Tolerance wide = wide_enough(kOtherDtype, found_results[r], expected_results[r]);
      room.absolute = std::max(room.absolute, wide.absolute);
      room.relative = std::max(room.relative, wide.relative);
    }
    for (size_t i = 0; i < found.size(); ++i) {
      const std::string what = difference(found[i], expected[i], room);
      if (what.empty()) continue;
      check.find("override-gradient",
                 format_text("on {}, once through the override and once through the op on the "
                             "converted operands, the gradient for '{}'{}",
                             order, recorded.names[i], what),
                 &report);
    }
  } catch (const tenon::NotImplementedError& error) {
    check.listener.note(format_text("on {} it has no gradient: {}", order, error.what()));
  } catch (const tenon::Error& error) {
    check.find("override-gradient", format_text("on {} backward fails: {}", order, error.what()),
               &report);
  }
}

}  // namespace

void check_override_gradients(OverrideCheck& check) {
  const bool changes =
      std::any_of(check.op.parameters.begin(), check.op.parameters.end(),
                  [](const DeclaredType& type) { return type.mutates && !type.is_out(); });
  if (changes) return;  // a tensor that requires grad is not changed in place
  for (const AnsweredCall& call : check.calls) check_gradient(check, call);
}

}  // namespace cli
