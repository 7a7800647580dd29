// Checks of the batches of an epoch before the first of them, by calls that compute shapes alone.
#include <tenon/autograd.hpp>
#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>
#include <tenon/shapes_only.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/text.hpp>
#include <tenon/training/batch_check.hpp>
#include <tenon/training/model_summary.hpp>
#include <tenon/training/roles.hpp>

#include "label_form.hpp"
#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

Tensor shape_tensor(const std::vector<int64_t>& shape, DType dtype) {
  return empty_tensor(IntList(shape.data(), static_cast<int64_t>(shape.size())), dtype);
}

std::vector<int64_t> with_count(int64_t count, std::vector<int64_t> shape) {
  shape.insert(shape.begin(), count);
  return shape;
}

// The draws of what is only tried do not count.
class GeneratorScope {
 public:
  GeneratorScope() : outer_(generator_state()) {}
  ~GeneratorScope() { set_generator_state(outer_); }
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  Draws outer_;
};

class BatchChecker {
 public:
  BatchChecker(const TrainingConfig& config, const BatchContents& contents)
      : config_(config), contents_(contents) {
    const ShapesOnly shapes;
    model_ = state::create_module(config.model);
    model_.train();
  }

  // The first fault of a batch of so many samples; empty: none.
  std::string fault(int64_t count) {
    std::vector<int64_t> output;
    {
      const ShapesOnly shapes;
      const NoGrad no_grad;
      const Tensor input = transformed(shape_tensor(with_count(count, contents_.sample), f32));
      ModelSummary summary;
      summarize_call(model_, {input}, summary);
      if (!summary.faults.empty()) return summary.faults.front();
      if (summary.layers.front().outputs.empty()) return {};
      output = summary.layers.front().outputs.front();
    }
    return config_.loss.defined() && !output.empty() ? loss_fault(output) : "";
  }

 private:
  Tensor transformed(Tensor input) const {
    for (const Json& transform : config_.training->transforms)
      input = OpChoice(transform_role(), transform)
                  .call_one({input}, {arg("seed") = int64_t{0}})
                  .tensor();
    return input;
  }

  std::string loss_fault(const std::vector<int64_t>& output) const {
    const std::vector<int64_t> label = with_count(output.front(), contents_.label);
    const LabelForm form = label_form(label, contents_.whole_labels, output);
    if (form == LabelForm::neither) return number_fault(config_.model, label, output);
    Loss loss(config_.loss);
    const bool classes = form == LabelForm::classes;
    // One label of each class, for arguments that are computed from labels.
    const int64_t count = classes ? output[1] : 1;
    loss.fit(arange(0, count, 1, i64), classes ? count : 0);
    // Ops read labels to check them, without computing anything: these are there.
    const Tensor scores = zeros({1}).expand(output);
    const Tensor labels = classes ? zeros({1}, i64).expand(label) : scores;
    const ShapesOnly shapes;
    const NoGrad no_grad;
    loss(scores, labels);
    return {};
  }

  const TrainingConfig& config_;
  const BatchContents& contents_;
  Module model_;
};

std::string remainder_text(const BatchPlan& plan, const std::string& fault) {
  return lib::format_text(
      "{}\n  in the last batch: {} in batches of {} leave {} for it; leave it out by "
      "/training/drop_last, or choose another /training/batch_size",
      fault, counted(plan.samples, "sample"), grouped(plan.size), grouped(plan.remainder()));
}

// The fault of an action; empty where it has none, or where an op has no rule for shapes.
template <class Action>
std::string fault_of(const Action& action) {
  try {
    return action();
  } catch (const NotImplementedError&) {
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

BatchPlan plan_of(const LoopConfig& loop, int64_t samples) {
  return {samples, loop.batch_size, loop.drop_last};
}

// A whole batch is tried first: the last one is not to blame for what all meet. Nor is the only one, which
// no remedy leaves out.
std::string first_fault(const TrainingConfig& config, const BatchContents& contents,
                        const BatchPlan& plan) {
  BatchChecker checker(config, contents);
  std::string fault;
  if (plan.remainder() < plan.samples) fault = fault_of([&] { return checker.fault(plan.size); });
  if (!fault.empty() || plan.remainder() == 0) return fault;
  fault = fault_of([&] { return checker.fault(plan.remainder()); });
  const bool is_only = plan.remainder() == plan.samples;
  return fault.empty() || is_only ? fault : remainder_text(plan, fault);
}

}  // namespace

std::vector<std::string> batch_faults(const TrainingConfig& config, const BatchContents& contents) {
  if (!config.training || contents.samples < 1) return {};
  const GeneratorScope draws;
  const std::string fault = fault_of([&] {
    const BatchPlan plan = plan_of(*config.training, contents.samples);
    Batches::require_some(config.training->section, plan);
    return first_fault(config, contents, plan);
  });
  return fault.empty() ? std::vector<std::string>() : std::vector<std::string>{fault};
}

void require_last_batch(const TrainingConfig& config, const Samples& train) {
  if (!config.training || plan_of(*config.training, train.count()).remainder() == 0) return;
  BatchContents contents{train.inputs.sizes(), train.labels.sizes(),
                         !is_floating(train.labels.dtype()), train.count()};
  contents.sample.erase(contents.sample.begin());
  contents.label.erase(contents.label.begin());
  const std::vector<std::string> faults = batch_faults(config, contents);
  if (!faults.empty()) throw ConfigError(faults.front());
}

}  // namespace training

TENON_NAMESPACE_END
