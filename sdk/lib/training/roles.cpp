// Ops that are called in their roles, and what they may give.
#include <tenon/autograd.hpp>
#include <tenon/kernel/shape.hpp>
#include <tenon/parallel.hpp>
#include <tenon/shapes_only.hpp>
#include <tenon/text.hpp>
#include <tenon/training/roles.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

Loss::Loss(const Json& section)
    : choice_(loss_role(), section), sums_(section["reduction"].text() == "sum") {}

namespace {

// The shape that two broadcast to; none: they do not.
std::optional<std::vector<int64_t>> broadcast(std::vector<int64_t> one,
                                              std::vector<int64_t> other) {
  if (one.size() < other.size()) one.swap(other);
  const size_t more = one.size() - other.size();
  for (size_t i = 0; i < other.size(); ++i) {
    int64_t& size = one[more + i];
    if (size == 1)
      size = other[i];
    else if (other[i] != 1 && other[i] != size)
      return std::nullopt;
  }
  return one;
}

// Whether a loss has an element for each place of what its operands broadcast to, by a call that
// computes shapes alone. A loss that does not say its elements, or that is not called so, has not.
bool compares_elements(const OpChoice& choice, const Tensor& output, const Tensor& target,
                       const std::vector<int64_t>& places) {
  if (!choice.found().has("reduction")) return false;
  try {
    const ShapesOnly shapes;
    const NoGrad no_grad;
    return choice.call_one({output, target}, {arg("reduction") = "none"}).tensor().sizes() ==
           places;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Tensor Loss::operator()(const Tensor& output, const Tensor& target) const {
  if (output.sizes() != target.sizes()) {
    const auto places = broadcast(output.sizes(), target.sizes());
    if (places && compares_elements(choice_, output, target, *places)) {
      throw ValueError(lib::format_text(
          "{}: {} compares each element of the output with one of the target, but the output has "
          "shape {} and the target {}, which only broadcast; make the shapes equal, or choose a "
          "loss of class numbers such as cross_entropy",
          choice_.section().place(), choice_.found().name, kernel::shape_text(output.shape()),
          kernel::shape_text(target.shape())));
    }
  }
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

Sampler::Sampler(const Json& section) : choice_(sampler_role(), section) {}

Tensor Sampler::order(const Tensor& labels, int64_t epoch) const {
  const NoGrad no_grad;
  const int64_t count = labels.size(0);
  std::vector<Keyword> supplied = {arg("epoch") = epoch};
  // Other bits than those of transforms, which the same seed decides.
  const Draws seeds{~generator_state().seed, 0};
  if (!choice_.section()["seed"].defined())
    supplied.push_back(arg("seed") = static_cast<int64_t>(seeds.bits(epoch) >> 1));
  const Tensor order = choice_.call_one({labels}, supplied).tensor();
  const auto fault = [&](const std::string& what) {
    throw ValueError(lib::format_text("{}: {} must give the rows of {}, found {}",
                                      choice_.section().place(), choice_.found().name,
                                      counted(count, "sample"), what));
  };
  if (!order.defined() || order.dtype() != i64 || order.dim() != 1 || order.numel() != count)
    fault(order.defined() ? lib::format_text("{} of shape {}", dtype_text(order.dtype()),
                                             kernel::shape_text(order.shape()))
                          : "no tensor");
  const std::vector<int64_t> rows = order.to_vector<int64_t>();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0 || rows[i] >= count) fault(lib::format_text("row {} at place {}", rows[i], i));
  }
  return order;
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
