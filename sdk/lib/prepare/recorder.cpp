#include "recorder.hpp"

#include <algorithm>

#include <tenon/runtime.hpp>

#include "lib/base/format.hpp"
#include "tensors.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

using lib::format_text;

namespace {

// The position of the process's random generator.
struct Position {
  uint64_t seed = 0, offset = 0;
  Position() { service::threads().generator_reserve(0, &seed, &offset); }
  bool operator==(const Position& other) const {
    return seed == other.seed && offset == other.offset;
  }
  void restore() const { service::threads().generator_state_set(seed, offset); }
};

tenon_value value_of(const Tensor& tensor) { return Argument(tensor).value(); }

}  // namespace

Recorder::Recorder(const std::vector<ModelMember>& members, bool copies, bool reads,
                   const CallList* first, const ReadResults* first_read)
    : Mode("prepare"), copies_(copies), reads_(reads), first_(first), first_read_(first_read) {
  for (const ModelMember& member : members) members_.emplace(member.tensor.handle(), &member);
}

void Recorder::refuse(std::string reason) {
  if (reason_.empty()) reason_ = std::move(reason);
  throw RuntimeError(reason_);
}

// ---- values ----

int64_t Recorder::memory_of(const Tensor& real) {
  const uint32_t storage = service::tensors().storage_number(real.handle());
  if (storage == 0) {  // memory of a caller, or none: by comparison with what is kept
    for (size_t i = 0; i < reals_.size(); ++i) {
      if (reals_[i].defined() &&
          service::tensors().shares_storage(reals_[i].handle(), real.handle()) != 0)
        return list_.values[i].memory;
    }
  } else if (const auto found = memory_by_storage_.find(storage);
             found != memory_by_storage_.end()) {
    return found->second;
  }
  const auto number = static_cast<int64_t>(memory_.size());
  memory_.emplace_back();
  if (storage != 0) memory_by_storage_.emplace(storage, number);
  return number;
}

size_t Recorder::add_value(ListValue::Kind kind, const Tensor& real) {
  const size_t number = list_.values.size();
  ListValue value;
  value.kind = kind;
  value.layout = stand_in(real);
  const bool known = first_ != nullptr && number < first_->values.size();
  value.memory = known ? first_->values[number].memory : memory_of(real);
  if (memory_.size() <= static_cast<size_t>(value.memory))
    memory_.resize(static_cast<size_t>(value.memory) + 1);
  Memory& memory = memory_[static_cast<size_t>(value.memory)];
  memory.argument |= kind == ListValue::Kind::argument;
  memory.constant |= kind == ListValue::Kind::constant;
  if (kind == ListValue::Kind::result) made_bytes_ += bytes_of(real);
  list_.values.push_back(std::move(value));
  reals_.push_back(real);
  by_real_[real.handle()] = number;
  return number;
}

Tensor Recorder::add_argument(const Tensor& given, bool readable) {
  const size_t number = add_value(ListValue::Kind::argument, copies_ ? copy_of(given) : given);
  list_.values[number].argument = arguments_++;
  if (readable) {
    Tensor copy = copy_of(given);
    readable_[copy.handle()] = number;
    return copy;
  }
  by_shown_[list_.values[number].layout.handle()] = number;
  return list_.values[number].layout;
}

size_t Recorder::add_constant(const Tensor& tensor) {
  const auto member = members_.find(tensor.handle());
  const bool other = member == members_.end();
  // Code of the model may change its tensor after this use.
  const size_t number = add_value(ListValue::Kind::constant, other ? copy_of(tensor) : tensor);
  list_.values[number].constant = reals_[number];
  if (other)
    others_.emplace(number, tensor);
  else
    list_.values[number].name = member->second->name;
  by_shown_[tensor.handle()] = number;
  return number;
}

void Recorder::require_plain(const std::string& op, const Tensor& tensor) {
  const uint32_t flags = tensor.view_record().flags;
  if ((flags & TENON_TENSOR_TYPED) != 0)
    refuse(format_text("{} gets a {}", op, service::types().name(tensor.view_record().type)));
  if ((flags & (TENON_TENSOR_SHAPE_ONLY | TENON_TENSOR_HAS_TANGENT)) != 0)
    refuse(format_text("{} gets a tensor without data, or with a tangent", op));
}

size_t Recorder::number_of(const std::string& op, const Tensor& tensor) {
  const auto known = by_shown_.find(tensor.handle());
  if (known == by_shown_.end()) {
    require_plain(op, tensor);
    return add_constant(tensor);
  }
  const ListValue& value = list_.values[known->second];
  if (value.kind != ListValue::Kind::constant || !value.name.empty() ||
      same_elements(tensor, value.constant))
    return known->second;
  return add_constant(tensor);
}

const Tensor& Recorder::shown(size_t number) const {
  if (const auto read = read_.find(number); read != read_.end()) return read->second;
  const ListValue& value = list_.values[number];
  if (value.kind != ListValue::Kind::constant) return value.layout;
  const auto other = others_.find(number);
  return other == others_.end() ? value.constant : other->second;
}

bool Recorder::read_changed() const {
  return std::any_of(read_.begin(), read_.end(), [&](const auto& pair) {
    const Tensor& real = reals_[pair.first];
    return real.defined() && !same_elements(pair.second, real);
  });
}

// Frees real tensors whose stand-ins the model has dropped.
void Recorder::forget_unused() {
  const auto left = static_cast<size_t>(
      std::count_if(reals_.begin(), reals_.end(), [](const Tensor& t) { return t.defined(); }));
  constexpr int64_t least_bytes = int64_t{1} << 20;
  if (left < 2 * kept_ + 64 && made_bytes_ < std::max(least_bytes, kept_bytes_ / 4)) return;
  kept_ = 0;
  kept_bytes_ = 0;
  for (size_t i = 0; i < reals_.size(); ++i) {
    if (!reals_[i].defined()) continue;
    const ListValue& value = list_.values[i];
    if (value.kind == ListValue::Kind::result && read_.count(i) == 0 &&
        service::tensors().storage_number(reals_[i].handle()) != 0 &&
        service::tensors().use_count(value.layout.handle()) == 1) {
      by_real_.erase(reals_[i].handle());
      by_shown_.erase(value.layout.handle());
      reals_[i] = Tensor();
    } else {
      ++kept_;
      if (value.kind == ListValue::Kind::result) kept_bytes_ += bytes_of(reals_[i]);
    }
  }
  release_freed(std::exchange(made_bytes_, 0));
}

// ---- calls ----

const std::vector<size_t>& Recorder::written_parameters(const Op& op) {
  const auto [place, added] = written_.try_emplace(op.handle());
  if (added) {
    const Json parameters = parse_schema(op.schema())["parameters"];
    for (int64_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i]["mutates"].as_bool()) place->second.push_back(static_cast<size_t>(i));
    }
  }
  return place->second;
}

ListOperand Recorder::read_argument(const Call& call, int64_t place, tenon_value& argument,
                                    std::vector<std::vector<tenon_tensor*>>& lists) {
  ListOperand operand;
  switch (argument.tag) {
    case TENON_VALUE_NONE:
      break;
    case TENON_VALUE_TENSOR: {
      operand.kind = ListOperand::Kind::tensor;
      const size_t number = number_of(call.name(), Tensor::borrow(argument.as.tensor));
      operand.values.push_back(static_cast<int64_t>(number));
      argument = value_of(reals_[number]);
      break;
    }
    case TENON_VALUE_TENSOR_LIST: {
      operand.kind = ListOperand::Kind::tensors;
      std::vector<tenon_tensor*>& list = lists[static_cast<size_t>(place)];
      for (uint32_t k = 0; k < argument.length; ++k) {
        tenon_tensor* const entry = argument.as.tensors[k];
        const int64_t number =
            entry == nullptr ? undefined_value
                             : static_cast<int64_t>(number_of(call.name(), Tensor::borrow(entry)));
        operand.values.push_back(number);
        list.push_back(entry == nullptr ? nullptr : reals_[static_cast<size_t>(number)].handle());
      }
      argument.as.tensors = list.data();
      break;
    }
    case TENON_VALUE_JSON:
    case TENON_VALUE_MODULE:
    case TENON_VALUE_MODULE_LIST:
    case TENON_VALUE_MODULE_DICT:
      refuse(format_text("{} gets {}", call.name(), detail::kind_text(argument)));
    default:
      operand.literal = std::make_shared<const Value>(copy_value(argument));
  }
  return operand;
}

// A member that an op may change, as batch norm does with its statistics, is copied for the recording.
void Recorder::write_constant(const std::string& op, size_t number) {
  const ListValue& value = list_.values[number];
  const auto in_memory =
      std::count_if(list_.values.begin(), list_.values.end(),
                    [&](const ListValue& other) { return other.memory == value.memory; });
  if (value.kind != ListValue::Kind::constant || value.name.empty() || in_memory != 1)
    refuse(format_text("{} changes a tensor of the model in place", op));
  if (!reals_[number].is_same(value.constant)) return;
  reals_[number] = copy_of(value.constant);
  by_real_[reals_[number].handle()] = number;
}

void Recorder::check_written(const std::string& op, const ListOperand& operand) {
  for_each_value(operand, [&](size_t number) {
    const ListValue& value = list_.values[number];
    const Memory memory = memory_[static_cast<size_t>(value.memory)];
    if (memory.read) refuse(format_text("{} changes a number that the model reads", op));
    if (memory.constant) return write_constant(op, number);
    if (!memory.argument || copies_) return;
    changes_argument_ = true;
    refuse(format_text("{} changes an argument in place", op));
  });
}

// Batch norm in eval mode declares to change its statistics and does not: such a call may be folded and
// rewritten. Where it stays, it gets copies.
void Recorder::leave_unchanged_members(ListedCall& call) {
  const auto is_changed = [&](size_t place) {
    bool changed = false;
    for_each_value(call.arguments[place], [&](size_t number) {
      const ListValue& value = list_.values[number];
      changed |= value.kind != ListValue::Kind::constant || value.name.empty() ||
                 !same_elements(value.constant, reals_[number]);
    });
    return changed;
  };
  const auto unchanged =
      std::stable_partition(call.written.begin(), call.written.end(), is_changed);
  call.unchanged.assign(unchanged, call.written.end());
  call.written.erase(unchanged, call.written.end());
}

ListOperand Recorder::read_result(const std::string& op, tenon_value& result) {
  ListOperand operand;
  const auto take = [&](tenon_tensor*& place) {
    const Tensor real = Tensor::take(std::exchange(place, nullptr));
    if (!real.defined()) return undefined_value;
    const auto known = by_real_.find(real.handle());
    size_t number = 0;
    if (known != by_real_.end()) {
      number = known->second;
    } else {
      require_plain(op, real);
      number = add_value(ListValue::Kind::result, real);
      if (reads_ && is_number(real, 1)) {
        read_.emplace(number, copy_of(real));
        memory_[static_cast<size_t>(list_.values[number].memory)].read = true;
      }
      by_shown_[shown(number).handle()] = number;
    }
    place = Tensor(shown(number)).give();
    return static_cast<int64_t>(number);
  };
  if (result.tag == TENON_VALUE_NONE) return operand;
  if (result.tag == TENON_VALUE_TENSOR) {
    operand.kind = ListOperand::Kind::tensor;
    operand.values.push_back(take(result.as.tensor));
  } else if (result.tag == TENON_VALUE_TENSOR_LIST) {
    operand.kind = ListOperand::Kind::tensors;
    for (uint32_t k = 0; k < result.length; ++k)
      operand.values.push_back(take(const_cast<tenon_tensor**>(result.as.tensors)[k]));
  } else {
    refuse(format_text("{} gives {}, which may depend on elements", op, detail::kind_text(result)));
  }
  return operand;
}

// The results that the first run got, where it made the same call.
Results Recorder::follow(const ListedCall& call) {
  const size_t at = list_.calls.size();
  const std::string op = call.op.name();
  if (at == first_->calls.size() || first_->calls[at].op != call.op ||
      !same_operands(first_->calls[at].arguments, call.arguments))
    refuse(format_text("two runs on the same arguments differ at {}", op));
  const ListedCall& before = first_->calls[at];
  Results results = Results::of_count(static_cast<int64_t>(before.results.size()));
  const auto give = [&](int64_t number) -> Tensor {
    if (number == undefined_value) return {};
    const auto place = static_cast<size_t>(number);
    if (place == list_.values.size()) {
      list_.values.push_back(first_->values[place]);
      reals_.emplace_back();
      const auto memory = static_cast<size_t>(first_->values[place].memory);
      if (memory_.size() <= memory) memory_.resize(memory + 1);
      if (const auto read = first_read_->find(place); read != first_read_->end())
        read_.insert(*read);
      by_shown_[shown(place).handle()] = place;
    }
    if (place >= list_.values.size())
      refuse(format_text("two runs on the same arguments differ at {}", op));
    return shown(place);
  };
  for (size_t r = 0; r < before.results.size(); ++r) {
    const ListOperand& operand = before.results[r];
    if (operand.kind == ListOperand::Kind::tensor) {
      detail::give_result(give(operand.values.front()), &results.slots()[r]);
    } else if (operand.kind == ListOperand::Kind::tensors) {
      std::vector<Tensor> tensors;
      for (const int64_t number : operand.values) tensors.push_back(give(number));
      detail::give_result(std::move(tensors), &results.slots()[r]);
    }
  }
  list_.calls.push_back(before);
  return results;
}

Results Recorder::tenon_function(const Call& call) {
  if (!reason_.empty()) refuse(reason_);
  const Op op = call.op();
  const std::string op_name = call.name();
  if (std::this_thread::get_id() != thread_) refuse(op_name + " is called on another thread");
  ListedCall listed(op);
  std::vector<tenon_value> arguments;
  std::vector<std::vector<tenon_tensor*>> lists(static_cast<size_t>(call.size()));
  for (int64_t i = 0; i < call.size(); ++i) {
    arguments.push_back(call.argument(i).value());
    listed.arguments.push_back(read_argument(call, i, arguments.back(), lists));
  }
  for (const size_t place : written_parameters(op)) {
    const ListOperand& operand = listed.arguments[place];
    if (operand.values.empty()) continue;  // `out` that is not given
    listed.written.push_back(place);
    check_written(op_name, operand);
    // Copies may have taken the places of tensors.
    if (operand.kind == ListOperand::Kind::tensor)
      arguments[place] = value_of(reals_[static_cast<size_t>(operand.values.front())]);
  }

  if (first_ != nullptr) return follow(listed);

  const Position before;
  const int64_t count = service::ops().result_count(op.handle());
  constexpr size_t most = 20000;
  if (list_.calls.size() == most) refuse(format_text("it makes more than {} calls", most));
  Results results = Results::of_count(count);
  detail::check(service::ops().call, op.handle(), arguments.data(), call.size(), results.slots());
  if (!(Position() == before)) {
    before.restore();
    refuse(op_name + " draws random numbers");
  }
  leave_unchanged_members(listed);
  for (int64_t r = 0; r < count; ++r)
    listed.results.push_back(read_result(op_name, results.slots()[r]));
  list_.calls.push_back(std::move(listed));
  forget_unused();
  return results;
}

void Recorder::add_output(const tenon_value& value) {
  ListOperand operand;
  const auto number = [&](tenon_tensor* tensor) {
    if (tensor == nullptr) return undefined_value;
    const auto readable = readable_.find(tensor);
    return static_cast<int64_t>(readable != readable_.end()
                                    ? readable->second
                                    : number_of("the model's result", Tensor::borrow(tensor)));
  };
  if (value.tag == TENON_VALUE_TENSOR) {
    operand.kind = ListOperand::Kind::tensor;
    operand.values.push_back(number(value.as.tensor));
  } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
    operand.kind = ListOperand::Kind::tensors;
    for (uint32_t k = 0; k < value.length; ++k)
      operand.values.push_back(number(value.as.tensors[k]));
  } else if (value.tag > TENON_VALUE_TENSOR && value.tag != TENON_VALUE_INT_LIST &&
             value.tag != TENON_VALUE_FLOAT_LIST && value.tag != TENON_VALUE_BOOL_LIST &&
             value.tag != TENON_VALUE_STRING_LIST) {
    refuse(format_text("a result of the model is {}", detail::kind_text(value)));
  } else if (value.tag != TENON_VALUE_NONE) {
    operand.literal = std::make_shared<const Value>(copy_value(value));
  }
  list_.outputs.push_back(std::move(operand));
}

}  // namespace prepared

TENON_NAMESPACE_END
