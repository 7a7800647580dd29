// Ops that are called in their roles, and what they may give.
#include <tenon/autograd.hpp>
#include <tenon/text.hpp>
#include <tenon/training/roles.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

Loss::Loss(const Json& section)
    : choice_(loss_role(), section), sums_(section["reduction"].text() == "sum") {}

Tensor Loss::operator()(const Tensor& output, const Tensor& target) const {
  Tensor loss = choice_.call_one({output, target}).tensor();
  if (!loss.defined() || loss.numel() != 1) {
    throw ValueError(lib::format_text(
        "{}: {} must give one number for a batch, but gives a tensor of {}; choose a reduction of "
        "'mean' or 'sum'",
        choice_.section().place(), choice_.found().name,
        grouped(loss.defined() ? loss.numel() : 0)));
  }
  return loss;
}

Metric::Metric(const Json& section)
    : choice_(metric_role(), section),
      name_(
          section["name"].text(choice_.found().name.substr(choice_.found().name.rfind('.') + 1))) {}

MetricResult Metric::operator()(const Tensor& outputs, const Tensor& targets) const {
  const Value value = choice_.call_one({outputs, targets});
  MetricResult result;
  result.name = name_;
  if (value.is_number()) {
    result.number = value.scalar().to<double>();
  } else if (value.is_tensor() && value.tensor().defined()) {
    result.tensor = value.tensor();
    if (result.tensor.numel() == 1) result.number = result.tensor.item();
  } else {
    throw ValueError(lib::format_text("{}: {} must give a number or a tensor",
                                      choice_.section().place(), choice_.found().name));
  }
  return result;
}

Schedule::Schedule(const std::vector<Json>& sections) {
  for (const Json& one : sections) choices_.emplace_back(schedule_role(), one);
}

double Schedule::factor(const StepNumber& at) const {
  double product = 1;
  for (const OpChoice& choice : choices_) {
    const Value value = choice.call_one(
        {}, {arg("step") = at.step, arg("steps") = at.steps, arg("epoch") = at.epoch,
             arg("epochs") = at.epochs, arg("steps_per_epoch") = at.steps_per_epoch});
    if (!value.is_number() && !(value.is_tensor() && value.tensor().defined()))
      throw ValueError(
          lib::format_text("{}: {} must give the factor of the learning rate, a number",
                           choice.section().place(), choice.found().name));
    product *= value.is_number() ? value.scalar().to<double>() : value.tensor().item();
  }
  return product;
}

GradientClip::GradientClip(const std::vector<Json>& sections) {
  for (const Json& one : sections) choices_.emplace_back(clip_role(), one);
}

void GradientClip::operator()(const std::vector<Tensor>& gradients) const {
  const NoGrad no_grad;
  for (const OpChoice& choice : choices_) choice.call({gradients});
}

}  // namespace training

TENON_NAMESPACE_END
