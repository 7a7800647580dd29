// Optimizers: what their schemas say, their states, and their steps.
#include <algorithm>

#include <tenon/autograd.hpp>
#include <tenon/ops.hpp>
#include <tenon/training/optimizer.hpp>

#include "format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

// The keyword that an optional state belongs to: the longest that begins its name.
std::string keyword_of(const FoundOp& op, const std::string& state) {
  std::string longest;
  for (const DeclaredType& parameter : op.parameters) {
    const std::string& name = parameter.name;
    const bool begins = parameter.keyword_only && state.size() > name.size() &&
                        state.compare(0, name.size() + 1, name + "_") == 0;
    if (begins && name.size() > longest.size()) longest = name;
  }
  return longest;
}

}  // namespace

OptimizerSchema optimizer_schema(const FoundOp& op) {
  OptimizerSchema schema;
  const auto fault = [&](const std::string& what) {
    schema.faults.push_back(format_text(
        "{} is not an optimizer: {}; expected (Tensor(a!) parameter, Tensor gradient, Tensor(b!) "
        "state, ..., *, keywords)",
        op.name, what));
  };
  size_t positional = 0;
  for (const DeclaredType& parameter : op.parameters) {
    if (parameter.keyword_only) break;
    const bool tensor = parameter.base == "Tensor" && !parameter.list;
    const size_t at = positional++;
    if (!tensor) {
      fault(format_text("'{} {}' is not a Tensor; settings come after '*'", parameter.text,
                        parameter.name));
    } else if (at == 1 ? parameter.mutates : !parameter.mutates) {
      fault(format_text("'{} {}' is {}changed in place", parameter.text, parameter.name,
                        at == 1 ? "" : "not "));
    } else if (at >= 2) {
      schema.states.push_back({parameter.name, parameter.optional,
                               parameter.optional ? keyword_of(op, parameter.name) : ""});
    }
  }
  if (positional < 2) fault(format_text("it has {} Tensors before '*'", positional));
  return schema;
}

Optimizer::Optimizer(const Json& section,
                     const std::vector<std::pair<std::string, Tensor>>& parameters)
    : choice_(optimizer_role(), section) {
  const OptimizerSchema schema = optimizer_schema(choice_.found());
  if (!schema.faults.empty())
    throw ConfigError(format_text("{}: {}", section["type"].place(), schema.faults.front()));
  for (const OptimizerSchema::State& state : schema.states) state_names_.push_back(state.name);
  bind_keywords();
  for (const auto& [name, parameter] : parameters) {
    if (parameter.requires_grad()) add_slot(name, parameter, schema);
  }
  if (slots_.empty())
    throw ValueError(format_text("{}: the model has no parameters to train", section.place()));
}

// Once, so that a step passes values in schema order and binds nothing.
void Optimizer::bind_keywords() {
  std::vector<tenon_string> names;
  std::vector<tenon_value> values = choice_.values();
  for (const std::string& name : choice_.names()) names.push_back(detail::string_of(name));
  if (choice_.found().has("step")) {
    names.push_back(detail::string_of("step"));
    values.push_back(Argument(int64_t{1}).value());
  }
  Value bound_names;
  tenon_value bound[32] = {};
  at_place(choice_.section(), [&] {
    detail::check(host().op_bind_attributes, choice_.op().handle(),
                  static_cast<const tenon_string*>(names.data()),
                  static_cast<const tenon_value*>(values.data()),
                  static_cast<int64_t>(names.size()), &positional_, bound_names.slot(), bound);
  });
  result_count_ = host().op_result_count(choice_.op().handle());
  keywords_ = bound_names.strings();
  for (size_t i = 0; i < keywords_.size(); ++i) {
    bound_.emplace_back(bound[i]);
    const int64_t at = positional_ + static_cast<int64_t>(i);
    if (keywords_[i] == "step") step_at_ = at;
    if (keywords_[i] == "learning_rate") rate_at_ = at;
  }
  if (rate_at_ >= 0)
    learning_rate_ = bound_[static_cast<size_t>(rate_at_ - positional_)].scalar().to<double>();
}

void Optimizer::add_slot(const std::string& name, const Tensor& parameter,
                         const OptimizerSchema& schema) {
  Slot slot;
  slot.name = name;
  slot.parameter = parameter;
  for (const OptimizerSchema::State& state : schema.states) {
    const auto found = std::find(keywords_.begin(), keywords_.end(), state.keyword);
    bool needed = true;
    if (state.optional && found != keywords_.end()) {
      const Value& value = bound_[static_cast<size_t>(found - keywords_.begin())];
      needed = !value.is_number() || value.scalar().to<double>() != 0;
    }
    Tensor zeros;
    if (needed) {
      zeros = empty_tensor(parameter.shape(), parameter.dtype());
      fill_elements(zeros, 0);
    }
    slot.states.push_back(zeros);
  }
  slot.values.push_back(Argument(slot.parameter).value());
  slot.values.push_back({});  // the gradient of each step
  for (const Tensor& state : slot.states) slot.values.push_back(Argument(state).value());
  for (const Value& value : bound_) slot.values.push_back(value.get());
  slots_.push_back(std::move(slot));
}

void Optimizer::step(double factor) {
  const NoGrad no_grad;
  ++steps_;
  const tenon_value rate = Argument(learning_rate_ * factor).value();
  const tenon_value number = Argument(steps_).value();
  for (Slot& slot : slots_) {
    const Tensor gradient = slot.parameter.grad();
    if (!gradient.defined()) continue;
    slot.values[1] = Argument(gradient).value();
    if (rate_at_ >= 0) slot.values[static_cast<size_t>(rate_at_)] = rate;
    if (step_at_ >= 0) slot.values[static_cast<size_t>(step_at_)] = number;
    tenon_value results[detail::max_results]{};
    tenon_error* error = nullptr;
    const tenon_status status =
        host().op_call(choice_.op().handle(), slot.values.data(),
                       static_cast<int64_t>(slot.values.size()), results, &error);
    if (status != TENON_OK)
      at_place(choice_.section(), [&] { detail::throw_error(status, error); });
    for (int64_t i = 0; i < result_count_; ++i) host().value_release(&results[i]);
    slot.parameter.set_grad({});
  }
}

std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> list;
  for (const Slot& slot : slots_) list.push_back(slot.parameter);
  return list;
}

std::vector<Tensor> Optimizer::gradients() const {
  std::vector<Tensor> list;
  for (const Slot& slot : slots_) {
    if (Tensor gradient = slot.parameter.grad(); gradient.defined())
      list.push_back(std::move(gradient));
  }
  return list;
}

std::vector<std::pair<std::string, Tensor>> Optimizer::states() const {
  std::vector<std::pair<std::string, Tensor>> list;
  for (const Slot& slot : slots_) {
    for (size_t i = 0; i < slot.states.size(); ++i) {
      if (slot.states[i].defined())
        list.emplace_back(format_text("{}.{}", slot.name, state_names_[i]), slot.states[i]);
    }
  }
  return list;
}

}  // namespace training

TENON_NAMESPACE_END
