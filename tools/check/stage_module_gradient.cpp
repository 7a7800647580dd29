// Stage "gradient" of modules: every parameter gets one, and it agrees with differences.
#include <algorithm>
#include <cmath>

#include <tenon/autograd.hpp>
#include <tenon/gradcheck_numbers.hpp>
#include <tenon/graph.hpp>

#include "format.hpp"
#include "module_check.hpp"
#include "tensors.hpp"
#include "text.hpp"

namespace cli {

using tenon::Tensor;

namespace {

// Backward of one instance in f64 against differences: for each parameter and input one direction.
class DirectionalCheck {
 public:
  DirectionalCheck(ModuleCheck& check, const ModuleCall& call, bool training)
      : check_(check),
        report_(call.report()),
        made_(check.make(call.attributes)),
        forward_(check.call_of(made_, call)),
        training_(training) {
    made_.train(training);
    made_.to(tenon::f64);
    for (size_t t = 0; t < forward_.tensors.size(); ++t) {
      const Tensor& tensor = forward_.tensors[t];
      const bool floating = tensor.defined() && tensor.dtype() == tenon::f32;
      inputs_.push_back(floating ? converted(tensor, tenon::f64) : tensor);
      if (floating && forward_.places[t].requires_grad)
        add_leaf(inputs_.back(), format_text("the argument '{}'", forward_.name_of(t)));
    }
    for (const auto& [name, parameter] : made_.named_parameters()) {
      if (parameter.defined() && parameter.requires_grad())
        add_leaf(parameter, format_text("the parameter '{}'", name));
    }
  }

  void run() {
    if (!report_.gradcheck.check_backward_ad) return;
    std::vector<Tensor> roots;
    tenon::GradientOptions options;
    try {
      for (const Tensor& output : outputs()) {
        if (!output.defined() || !output.requires_grad()) continue;
        roots.push_back(output);
        options.seeds.push_back(tenon::detail::arbitrary_like(output, roots.size()));
      }
    } catch (const tenon::Error& error) {
      // A tensor among the attributes stays what it was given as, and so do constants of a model's file.
      if (has_tensors(report_) || check_.module.of_file)
        return check_.listener.note(format_text("not tried in f64: {}", error.what()));
      return check_.find("dtype",
                         format_text("f32 is taken, but f64 is refused of a module that was "
                                     "converted to f64: {}",
                                     error.what()),
                         &report_);
    }
    if (roots.empty() || leaves_.empty()) return;
    options.allow_unused = true;
    const std::vector<Tensor> gradients = tenon::gradients(roots, leaves_, options);
    for (size_t i = 0; i < leaves_.size(); ++i) {
      const double expected = slope(leaves_[i], options.seeds);
      const double found = gradients[i].defined() ? inner(gradients[i], leaves_[i]) : 0;
      const double room = 1e-4 + 1e-3 * std::abs(expected);
      if (!std::isfinite(expected) || std::abs(found - expected) <= room) continue;
      // At a kink, or where it draws or counts its calls, differences say nothing.
      if (std::abs(slope(leaves_[i], options.seeds, 0.3) - expected) > room / 2) continue;
      return check_.find("wrong-gradient",
                         format_text("in {} mode the gradient of {} gives a slope of {}, "
                                     "differences give {}",
                                     training_ ? "training" : "eval", names_[i],
                                     short_number(found), short_number(expected)),
                         &report_);
    }
  }

 private:
  static constexpr double kStep = 1e-6;

  static bool has_tensors(const Sample& sample) {
    return std::any_of(sample.values.begin(), sample.values.end(),
                       [](const SampleValue& value) { return !value.tensors.empty(); });
  }
  void add_leaf(const Tensor& tensor, const std::string& name) {
    leaves_.push_back(tensor);
    leaves_.back().requires_grad_();
    names_.push_back(name);
  }
  std::vector<Tensor> outputs() const {
    std::vector<Tensor> list;
    for (const Tensor& output : readable(tensors_of(forward_(inputs_)))) {
      if (output.defined() && tenon::is_floating(output.dtype())) list.push_back(output);
    }
    return list;
  }
  static double direction(size_t element) {
    return element % 3 == 0 ? -0.8 : element % 3 == 1 ? 1 : 0.6;
  }
  static double inner(const Tensor& gradient, const Tensor& leaf) {
    const std::vector<double> numbers = numbers_of(gradient);
    double sum = 0;
    for (size_t i = 0; i < numbers.size() && leaf.sizes() == gradient.sizes(); ++i)
      sum += numbers[i] * direction(i);
    return sum;
  }
  // The slope of the outputs that require grad, times their seeds, along the direction of one leaf.
  double slope(const Tensor& leaf, const std::vector<Tensor>& seeds, double factor = 1) const {
    const double step = kStep * factor;
    const std::vector<double> numbers = numbers_of(leaf.detach());
    const auto value_at = [&](double by) {
      std::vector<double> moved = numbers;
      for (size_t i = 0; i < moved.size(); ++i) moved[i] += by * direction(i);
      put(leaf, moved);
      double sum = 0;
      size_t s = 0;
      for (const Tensor& output : outputs()) {
        if (!output.requires_grad() || s >= seeds.size()) continue;
        const std::vector<double> a = numbers_of(output.detach()), b = numbers_of(seeds[s++]);
        for (size_t i = 0; i < a.size() && i < b.size(); ++i) sum += a[i] * b[i];
      }
      return sum;
    };
    const double slope = (value_at(step) - value_at(-step)) / (2 * step);
    put(leaf, numbers);
    return slope;
  }
  static void put(const Tensor& leaf, const std::vector<double>& numbers) {
    if (!numbers.empty()) tenon::copy_elements(leaf.detach(), with_elements(leaf, numbers));
  }

  ModuleCheck& check_;
  const Sample report_;
  const tenon::Module made_;
  const SampleCall forward_;
  const bool training_;
  std::vector<Tensor> inputs_, leaves_;
  std::vector<std::string> names_;
};

void check_reached(ModuleCheck& check, const ModuleCall& call) {
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
  const std::string text = format_text("backward from the output leaves {} without a gradient: {}",
                                       counted(static_cast<int64_t>(unreached.size()), "parameter"),
                                       join(unreached, ", "));
  // A model with an If has weights in the branch that these inputs do not take.
  if (check.module.of_file) return check.listener.note(text);
  const Sample report = call.report();
  check.find("unreached-parameter", text, &report);
}

}  // namespace

void check_module_gradient(ModuleCheck& check, const ModuleCall& call) {
  check_reached(check, call);
  for (const bool training : {false, true}) DirectionalCheck(check, call, training).run();
}

}  // namespace cli
