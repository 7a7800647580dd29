// Optimizers: what their schemas say, their states, and their steps.
#include <algorithm>
#include <cmath>

#include <tenon/autograd.hpp>
#include <tenon/device.hpp>
#include <tenon/interrupt.hpp>
#include <tenon/ops.hpp>
#include <tenon/training/optimizer.hpp>
#include <tenon/training/shard.hpp>

#include "lib/base/format.hpp"
#include "lib/base/optimizer_form.hpp"

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

// Whether an op takes lists where another takes a parameter, its gradient and its states, and has
// the same keywords.
bool is_list_form(const FoundOp& lists, const FoundOp& op) {
  return lists.listing["provider"].text() == op.listing["provider"].text() &&
         std::equal(lists.parameters.begin(), lists.parameters.end(), op.parameters.begin(),
                    op.parameters.end(), [](const DeclaredType& list, const DeclaredType& one) {
                      if (list.keyword_only != one.keyword_only) return false;
                      if (one.keyword_only) return list.name == one.name && list.text == one.text;
                      return list.base == "Tensor" && list.list && list.mutates == one.mutates &&
                             list.optional == one.optional;
                    });
}

// Overrides and handlers of types are those of the op that is named.
bool is_typed(const Tensor& tensor) {
  return tensor.defined() && (tensor.view_record().flags & TENON_TENSOR_TYPED) != 0;
}

// "optim.adam_steps_" of "optim.adam_step_", where there is one.
std::optional<FoundOp> list_form_of(const FoundOp& op) {
  const std::string ending = "_step_";
  if (op.name.size() < ending.size() ||
      op.name.compare(op.name.size() - ending.size(), ending.size(), ending) != 0)
    return std::nullopt;
  std::optional<FoundOp> lists = find_op(op.name.substr(0, op.name.size() - 1) + "s_");
  return lists && is_list_form(*lists, op) ? lists : std::nullopt;
}

}  // namespace

OptimizerSchema optimizer_schema(const FoundOp& op) {
  OptimizerSchema schema;
  for (const std::string& what :
       lib::optimizer_faults(op.listing["parameters"], lib::OptimizerForm::one)) {
    schema.faults.push_back(lib::format_text(
        "{} is not an optimizer: {}; expected (Tensor(a!) parameter, Tensor gradient, Tensor(b!) "
        "state, ..., *, keywords)",
        op.name, what));
  }
  for (size_t at = 2; at < op.parameters.size() && !op.parameters[at].keyword_only; ++at) {
    const DeclaredType& state = op.parameters[at];
    schema.states.push_back(
        {state.name, state.optional, state.optional ? keyword_of(op, state.name) : ""});
  }
  return schema;
}

Optimizer::Optimizer(const Json& section,
                     const std::vector<std::pair<std::string, Tensor>>& parameters,
                     const Ranks& ranks)
    : ranks_(ranks), choice_(optimizer_role(), section) {
  const OptimizerSchema schema = optimizer_schema(choice_.found());
  if (!schema.faults.empty())
    throw ConfigError(lib::format_text("{}: {}", section["type"].place(), schema.faults.front()));
  for (const OptimizerSchema::State& state : schema.states) state_names_.push_back(state.name);
  bind_keywords();
  if (const std::optional<FoundOp> lists = list_form_of(choice_.found()))
    list_form_.emplace(lists->name);
  if (ranks_.shards_optimizer() && !is_elementwise()) {
    throw ConfigError(lib::format_text(
        "{}: {} changes an element of a parameter by others, so that its states cannot be sharded; "
        "remove \"shard_optimizer\" from \"distributed\"",
        section["type"].defined() ? section["type"].place() : section.place(),
        choice_.found().name));
  }
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.requires_grad()) continue;
    const Tensor elements = ranks_.shards_optimizer() ? shard_of(ranks_, parameter) : parameter;
    slots_.push_back(slot_of(name, parameter, elements, schema));
  }
  if (slots_.empty())
    throw ValueError(lib::format_text("{}: the model has no parameters to train", section.place()));
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
    detail::check(service::ops().bind_attributes, choice_.op().handle(),
                  static_cast<const tenon_string*>(names.data()),
                  static_cast<const tenon_value*>(values.data()),
                  static_cast<int64_t>(names.size()), &positional_, bound_names.slot(), bound);
  });
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

Optimizer::Slot Optimizer::slot_of(const std::string& name, const Tensor& parameter,
                                   const Tensor& elements, const OptimizerSchema& schema) const {
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
      zeros = empty_tensor(elements.shape(), elements.dtype());
      fill_elements(zeros, 0);
      zeros = device::to(zeros, device::name_of(elements));
    }
    slot.states.push_back(zeros);
  }
  return slot;
}

void Optimizer::apply(const std::vector<Target>& targets, double rate, int64_t number) const {
  if (targets.empty()) return;
  const auto count = static_cast<size_t>(positional_);  // the parameter, the gradient, the states
  std::vector<tenon_value> values(count);
  for (const Value& value : bound_) values.push_back(value.get());
  if (rate_at_ >= 0) values[static_cast<size_t>(rate_at_)] = Argument(rate).value();
  if (step_at_ >= 0) values[static_cast<size_t>(step_at_)] = Argument(number).value();
  const auto operand = [](const Target& target, size_t i) -> const Tensor& {
    return i == 0 ? target.parameter : i == 1 ? target.gradient : target.slot->states[i - 2];
  };
  const bool typed = std::any_of(targets.begin(), targets.end(), [&](const Target& target) {
    for (size_t i = 0; i < count; ++i) {
      if (is_typed(operand(target, i))) return true;
    }
    return false;
  });
  if (!list_form_ || typed) {
    for (const Target& target : targets) {
      for (size_t i = 0; i < count; ++i) values[i] = Argument(operand(target, i)).value();
      call(choice_.op(), values);
    }
    return;
  }
  std::vector<std::vector<Tensor>> lists(count);
  for (size_t i = 0; i < count; ++i) {
    for (const Target& target : targets) {
      if (operand(target, i).defined()) lists[i].push_back(operand(target, i));
    }
    if (!lists[i].empty()) values[i] = Argument(lists[i]).value();
  }
  call(*list_form_, values);
}

void Optimizer::call(const Op& op, std::vector<tenon_value>& values) const {
  tenon_value results[detail::max_results]{};
  tenon_error* error = nullptr;
  const tenon_status status = service::ops().call(
      op.handle(), values.data(), static_cast<int64_t>(values.size()), results, &error);
  if (status != TENON_OK) at_place(choice_.section(), [&] { detail::throw_error(status, error); });
  const int64_t count = service::ops().result_count(op.handle());
  for (int64_t i = 0; i < count; ++i) service::values().release(&results[i]);
}

// Whether two halves of a parameter that are changed alone become what the whole does.
bool Optimizer::is_elementwise() const {
  const NoGrad no_grad;
  const OptimizerSchema schema = optimizer_schema(choice_.found());
  const Tensor whole = tensor({0.5, -1.0, 2.0, 0.25}, f32), halves = whole.clone(),
               gradient = tensor({1.0, -2.0, 0.5, 3.0}, f32);
  const auto half = [](const Tensor& tensor, int64_t k) { return narrow(tensor, 0, 2 * k, 2); };
  try {
    const Slot of_whole = slot_of("", whole, whole, schema);
    const Slot of_half[] = {slot_of("", {}, half(halves, 0), schema),
                            slot_of("", {}, half(halves, 1), schema)};
    for (int64_t step = 1; step <= 2; ++step) {
      apply({{&of_whole, whole, gradient}}, 0.01, step);
      apply({{&of_half[0], half(halves, 0), half(gradient, 0)},
             {&of_half[1], half(halves, 1), half(gradient, 1)}},
            0.01, step);
    }
  } catch (const Error&) {
    return false;  // it does not take shards, which have one dimension
  }
  for (int64_t i = 0; i < whole.numel(); ++i) {
    const float difference = whole.data<float>()[i] - halves.data<float>()[i];
    if (!(std::abs(difference) <= 1e-6F)) return false;
  }
  return true;
}

void Optimizer::step(double factor) {
  const NoGrad no_grad;
  const Uninterrupted whole;  // some parameters would be a step ahead of others
  const bool shards = ranks_.shards_optimizer();
  std::vector<Target> targets;
  std::vector<std::pair<Tensor, Tensor>> changed;
  for (Slot& slot : slots_) {
    const Tensor gradient = slot.parameter.grad();
    if (!gradient.defined()) continue;
    if (!shards) {
      targets.push_back({&slot, slot.parameter, gradient});
    } else {
      const Tensor own = shard_of(ranks_, slot.parameter);
      if (own.numel() > 0) targets.push_back({&slot, own, shard_of(ranks_, gradient)});
      changed.emplace_back(own, slot.parameter);
    }
  }
  apply(targets, learning_rate_ * factor, steps_ + 1);
  ++steps_;
  for (Slot& slot : slots_) slot.parameter.set_grad({});
  if (shards) gather_shards(ranks_, changed);
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
  std::vector<std::pair<Tensor, Tensor>> shards;
  for (const Slot& slot : slots_) {
    for (size_t i = 0; i < slot.states.size(); ++i) {
      Tensor state = slot.states[i];
      if (!state.defined()) continue;
      if (ranks_.shards_optimizer()) {
        const Tensor whole = empty_tensor(slot.parameter.shape(), state.dtype());
        shards.emplace_back(state, whole);
        state = whole;
      }
      list.emplace_back(lib::format_text("{}.{}", slot.name, state_names_[i]), state);
    }
  }
  gather_shards(ranks_, shards);
  return list;
}

void Optimizer::set_states(const std::vector<std::pair<std::string, Tensor>>& states) {
  const NoGrad no_grad;
  auto next = states.begin();
  for (Slot& slot : slots_) {
    for (const Tensor& state : slot.states) {
      if (!state.defined()) continue;
      const Tensor& whole = (next++)->second;
      if (ranks_.shards_optimizer())
        copy_elements(state, shard_of(ranks_, whole));
      else if (!state.is_same(whole))
        copy_elements(state, whole);
    }
  }
}

int64_t Optimizer::kept_elements() const {
  int64_t count = 0;
  for (const Slot& slot : slots_) {
    for (const Tensor& state : slot.states)
      if (state.defined()) count += state.numel();
  }
  return count;
}

}  // namespace training

TENON_NAMESPACE_END
