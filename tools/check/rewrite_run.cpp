// Lists of calls in which patterns of a rewrite occur, and what they compute.
#include "rewrite_run.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include <tenon/call.hpp>
#include <tenon/grad_mode.hpp>
#include <tenon/mode.hpp>
#include <tenon/parallel.hpp>

#include "format.hpp"
#include "tensors.hpp"

namespace cli {

namespace prepared = tenon::prepared;
namespace rewrites = tenon::rewrites;
using prepared::CallList, prepared::ListedCall, prepared::ListOperand, prepared::ListValue;
using tenon::Tensor;
using tenon::Value;
using Kind = SampleValue::Kind;

// ---- cases ----

double RewriteCase::elements() const {
  double sum = 0;
  for (const SampleValue& value : values) {
    for (const TensorSpec& spec : value.tensors) {
      double product = 1;
      for (const int64_t size : spec.shape) product *= static_cast<double>(size);
      sum += product;
    }
  }
  return sum;
}

void RewriteCase::fill(uint64_t seed) {
  tensors.clear();
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (const SampleValue& value : values) {
    tensors.emplace_back();
    for (const TensorSpec& spec : value.tensors) tensors.back().push_back(make_tensor(spec, state));
  }
}

Sample RewriteCase::sample() const {
  Sample sample;
  sample.values = values;
  return sample;
}

const char* text_of(RewriteUse use) {
  switch (use) {
    case RewriteUse::read:
      return "read by another call";
    case RewriteUse::shown:
      return "an output of the model";
    case RewriteUse::inner_read:
      return "read by another call, as are the results inside of the pattern";
    case RewriteUse::inner_shown:
      return "an output of the model, as are the results inside of the pattern";
    case RewriteUse::then_written:
      return "read after the operands are changed in place";
    case RewriteUse::result_written:
      return "changed in place before the operands are read";
    default:
      return "read, and an operand is changed in place between two calls of the pattern";
  }
}

// ---- calls ----

namespace {

constexpr const char* kProbe = "#probe";

std::shared_ptr<const Value> literal(int64_t number) {
  return std::make_shared<const Value>(tenon::Argument(number).value());
}

// The arguments of a call as they are bound, defaults included.
class BoundArguments final : public tenon::Mode {
 public:
  BoundArguments() : Mode("rewrites under check") {}
  tenon::Results tenon_function(const tenon::Call& call) override {
    values.clear();
    for (int64_t i = 0; i < call.size(); ++i)
      values.push_back(prepared::copy_value(call.argument(i).value()));
    return call.call_parent();
  }
  std::vector<Value> values;
};

// Values of arguments, and what they refer to.
class ArgumentValues {
 public:
  explicit ArgumentValues(const RewriteCase& given) : given_(given) {}

  tenon_value of_slot(size_t slot) {
    const SampleValue& value = given_.values[slot];
    const std::vector<Tensor>& tensors = given_.tensors[slot];
    if (value.kind == Kind::tensor) return tenon::Argument(tensors.front()).value();
    if (value.kind == Kind::tensors)
      return tenon::Argument(
                 tenon::TensorList(tensors.data(), static_cast<int64_t>(tensors.size())))
          .value();
    return of_value(value);
  }
  tenon_value of_value(const SampleValue& value) {
    switch (value.kind) {
      case Kind::scalar:
        return tenon::Argument(value.scalar).value();
      case Kind::text:
        return tenon::Argument(texts_.emplace_back(value.texts[0].text)).value();
      case Kind::dtype:
        return tenon::Argument(value.dtype).value();
      case Kind::integers:
        return tenon::Argument(integers_.emplace_back(value.integers)).value();
      case Kind::numbers:
        return tenon::Argument(numbers_.emplace_back(value.numbers)).value();
      case Kind::none:
        return tenon_value{};
      default:
        throw tenon::ValueError(
            format_text("'{}' is of a kind that patterns do not take", value.name));
    }
  }
  // Results of earlier calls: by call and tensor.
  tenon_value of_argument(const PatternArgument& argument,
                          const std::vector<std::vector<Tensor>>& results) {
    switch (argument.kind) {
      case PatternArgument::Kind::slot:
        return of_slot(argument.index);
      case PatternArgument::Kind::call: {
        const std::vector<Tensor>& given = results[argument.index];
        if (argument.result >= given.size()) throw tenon::ValueError("a result is missing");
        return tenon::Argument(given[argument.result]).value();
      }
      case PatternArgument::Kind::list:
        return of_list(argument, results);
      default: {
        const auto value = cli::value_of(argument.literal);
        if (!value) throw tenon::ValueError("a value of the pattern cannot be an argument");
        return of_value(*value);
      }
    }
  }

 private:
  tenon_value of_list(const PatternArgument& argument,
                      const std::vector<std::vector<Tensor>>& results) {
    std::vector<tenon_value> items;
    for (const PatternArgument& item : argument.items) items.push_back(of_argument(item, results));
    const auto all = [&](uint32_t tag) {
      return std::all_of(items.begin(), items.end(),
                         [&](const tenon_value& item) { return item.tag == tag; });
    };
    if (all(TENON_VALUE_INT)) {
      std::vector<int64_t>& list = integers_.emplace_back();
      for (const tenon_value& item : items) list.push_back(item.as.integer);
      return tenon::Argument(list).value();
    }
    if (all(TENON_VALUE_TENSOR)) {
      std::vector<Tensor>& list = tensors_.emplace_back();
      for (const tenon_value& item : items) list.push_back(Tensor::borrow(item.as.tensor));
      return tenon::Argument(tenon::TensorList(list.data(), static_cast<int64_t>(list.size())))
          .value();
    }
    std::vector<double>& list = numbers_.emplace_back();
    for (const tenon_value& item : items) list.push_back(tenon::Scalar(item).to<double>());
    return tenon::Argument(list).value();
  }

  const RewriteCase& given_;
  std::deque<std::string> texts_;
  std::deque<std::vector<int64_t>> integers_;
  std::deque<std::vector<double>> numbers_;
  std::deque<std::vector<Tensor>> tensors_;
};

std::vector<Value> call_by_name(const tenon::Op& op, const PatternCall& call,
                                const std::vector<std::vector<Tensor>>& results,
                                ArgumentValues& made) {
  std::vector<tenon_string> names;
  std::vector<tenon_value> values;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    if (call.arguments[i].kind == PatternArgument::Kind::fallback) continue;
    const std::string& name = call.op.parameters[i].name;
    names.push_back({name.data(), static_cast<int64_t>(name.size())});
    values.push_back(made.of_argument(call.arguments[i], results));
  }
  tenon_value given[tenon::detail::max_results] = {};
  const tenon_value* const none = nullptr;
  tenon::detail::check(tenon::service::ops().call_keywords, op.handle(), none, int64_t{0},
                       static_cast<const tenon_string*>(names.data()),
                       static_cast<const tenon_value*>(values.data()),
                       static_cast<int64_t>(values.size()), static_cast<tenon_value*>(given));
  std::vector<Value> list;
  const int64_t count = tenon::service::ops().result_count(op.handle());
  for (int64_t r = 0; r < count; ++r) list.emplace_back(given[r]);
  return list;
}

}  // namespace

std::vector<Tensor> call_of_pattern(const PatternCall& call, const RewriteCase& given,
                                    const std::vector<std::vector<Tensor>>& results) {
  const tenon::NoGrad no_grad;
  ArgumentValues made(given);
  return tensors_of(call_by_name(tenon::Op(call.op.name), call, results, made));
}

// ---- lists ----

// The values of one case while it is recorded.
struct RewriteLists::Recording {
  std::vector<size_t> of_case;  // values
  std::map<const tenon_tensor*, size_t> by_handle;
  std::vector<size_t> operands, roots, inner;
  std::vector<std::vector<Tensor>> results;  // by call
};

RewriteLists::RewriteLists(const RewritePattern& pattern, const rewrites::Rule& rule)
    : pattern_(pattern), rule_(rule), probe_(pattern.other) {}

size_t RewriteLists::add_value(ListValue::Kind kind, const Tensor& tensor,
                               std::vector<size_t>& of_case) {
  ListValue value;
  value.kind = kind;
  tenon_tensor* stand_in = nullptr;
  tenon::detail::check(tenon::service::calls().stand_in, tensor.handle(), &stand_in);
  value.layout = Tensor::take(stand_in);
  const size_t number = before_.values.size();
  value.memory = static_cast<int64_t>(number);
  for (const size_t other : of_case) {
    if (!shares_storage(real_[other], tensor)) continue;
    value.memory = before_.values[other].memory;
    break;
  }
  if (kind == ListValue::Kind::constant) value.constant = tensor;
  before_.values.push_back(std::move(value));
  real_.push_back(tensor);
  of_case.push_back(number);
  return number;
}

void RewriteLists::add_probe(size_t index, bool writes, const std::vector<size_t>& values) {
  ListedCall probe(probe_);
  ListOperand operand, owner;
  operand.kind = ListOperand::Kind::tensors;
  for (const size_t value : values) operand.values.push_back(static_cast<int64_t>(value));
  owner.literal = literal(static_cast<int64_t>(index));
  probe.arguments = {std::move(operand), std::move(owner)};
  if (writes) probe.written.push_back(0);
  probe.rewrite = kProbe;
  before_.calls.push_back(std::move(probe));
}

bool RewriteLists::add(const RewriteCase& given, RewriteUse use) {
  const CallList before = before_;
  const size_t values = real_.size(), arguments = arguments_.size();
  const size_t index = cases_.size();
  Recording recording;
  const tenon::NoGrad no_grad;
  try {
    for (size_t slot = 0; slot < given.tensors.size(); ++slot) {
      for (const Tensor& tensor : given.tensors[slot]) {
        const bool constant = given.constants.count(slot) > 0;
        const size_t number =
            add_value(constant ? ListValue::Kind::constant : ListValue::Kind::argument, tensor,
                      recording.of_case);
        recording.by_handle[tensor.handle()] = number;
        recording.operands.push_back(number);
        if (constant) continue;
        before_.values[number].argument = static_cast<int64_t>(arguments_.size());
        arguments_.push_back(tensor);
        owners_.emplace_back(index, pattern_.slots[slot].type.name);
      }
    }
    ArgumentValues made(given);
    const std::string mark = format_text("#{}", index);
    for (size_t c = 0; c < pattern_.calls.size(); ++c) {
      const PatternCall& call = pattern_.calls[c];
      const tenon::Op op(call.op.name);
      BoundArguments bound;
      std::vector<Value> results;
      {
        const tenon::ModeScope scope(bound, tenon::Level::recorder);
        results = call_by_name(op, call, recording.results, made);
      }
      if (use == RewriteUse::written_between && c > 0 && c + 1 == pattern_.calls.size())
        add_probe(index, true, recording.operands);
      ListedCall listed(op);
      listed.rewrite = mark;
      const auto number_of = [&](const Tensor& tensor) -> int64_t {
        if (!tensor.defined()) return prepared::undefined_value;
        return static_cast<int64_t>(recording.by_handle.at(tensor.handle()));
      };
      for (const Value& value : bound.values) {
        ListOperand operand;
        if (value.is_tensor()) {
          operand.kind = ListOperand::Kind::tensor;
          operand.values.push_back(number_of(value.tensor()));
        } else if (value.get().tag == TENON_VALUE_TENSOR_LIST) {
          operand.kind = ListOperand::Kind::tensors;
          for (const Tensor& tensor : value.tensors()) operand.values.push_back(number_of(tensor));
        } else if (!value.is_none()) {
          operand.literal = std::make_shared<const Value>(prepared::copy_value(value.get()));
        }
        listed.arguments.push_back(std::move(operand));
      }
      recording.results.emplace_back();
      const bool root =
          std::find(pattern_.roots.begin(), pattern_.roots.end(), c) != pattern_.roots.end();
      const auto add_result = [&](const Tensor& tensor) -> int64_t {
        if (!tensor.defined()) return prepared::undefined_value;
        recording.results.back().push_back(tensor);
        const auto known = recording.by_handle.find(tensor.handle());
        const size_t number = known != recording.by_handle.end()
                                  ? known->second
                                  : add_value(ListValue::Kind::result, tensor, recording.of_case);
        recording.by_handle[tensor.handle()] = number;
        (root ? recording.roots : recording.inner).push_back(number);
        return static_cast<int64_t>(number);
      };
      for (const Value& result : results) {
        ListOperand operand;
        if (result.is_tensor()) {
          operand.kind = ListOperand::Kind::tensor;
          operand.values.push_back(add_result(result.tensor()));
        } else if (result.get().tag == TENON_VALUE_TENSOR_LIST) {
          operand.kind = ListOperand::Kind::tensors;
          for (const Tensor& tensor : result.tensors())
            operand.values.push_back(add_result(tensor));
        }
        listed.results.push_back(std::move(operand));
      }
      before_.calls.push_back(std::move(listed));
    }
    add_uses(recording, index, use);
  } catch (const tenon::Error& error) {
    if (error.kind() == TENON_ERROR_INTERRUPTED) throw;
    before_ = before;
    real_.resize(values);
    arguments_.resize(arguments);
    owners_.resize(arguments);
    return false;
  }
  cases_.push_back({given, pattern_.calls.size()});
  return true;
}

void RewriteLists::add_uses(Recording& recording, size_t index, RewriteUse use) {
  const auto show = [&](const std::vector<size_t>& values) {
    for (const size_t value : values) {
      ListOperand output;
      output.kind = ListOperand::Kind::tensor;
      output.values.push_back(static_cast<int64_t>(value));
      before_.outputs.push_back(std::move(output));
    }
  };
  const bool inner = use == RewriteUse::inner_read || use == RewriteUse::inner_shown;
  if (use == RewriteUse::shown || use == RewriteUse::inner_shown) {
    if (inner) show(recording.inner);
    show(recording.roots);
    return;
  }
  if (inner) add_probe(index, false, recording.inner);
  if (use == RewriteUse::then_written) add_probe(index, true, recording.operands);
  if (use == RewriteUse::result_written) {
    add_probe(index, true, recording.roots);
    add_probe(index, false, recording.operands);
  }
  add_probe(index, false, recording.roots);
}

rewrites::Account RewriteLists::apply(bool others) {
  after_ = before_;
  rewrites::Options options;
  options.declared = others;
  if (!others) options.rules.push_back(rule_);
  return rewrites::apply(after_, options);
}

bool RewriteLists::is_applied(size_t index) const {
  const std::string mark = format_text("#{}", index);
  const auto left = std::count_if(after_.calls.begin(), after_.calls.end(),
                                  [&](const ListedCall& call) { return call.rewrite == mark; });
  return static_cast<size_t>(left) < cases_[index].calls;
}

namespace {

// Calls of a list on the tensors of one case.
class ListRun {
 public:
  ListRun(const CallList& list, const std::vector<Tensor>& arguments, size_t index)
      : list_(list), arguments_(arguments), index_(index), values_(list.values.size()) {
    for (size_t v = 0; v < values_.size(); ++v) {
      const ListValue& value = list.values[v];
      if (value.kind == ListValue::Kind::argument)
        values_[v] = arguments[static_cast<size_t>(value.argument)];
      else if (value.kind == ListValue::Kind::constant)
        values_[v] = value.constant;
    }
  }

  // `outputs`: whether those of the list are of the case.
  std::vector<Tensor> run(bool outputs) {
    std::vector<char> needed(list_.values.size(), 0);
    const auto need = [&](size_t value) { needed[value] = 1; };
    if (outputs) prepared::for_each_value(list_.outputs, need);
    std::vector<char> runs(list_.calls.size(), 0);
    for (size_t c = list_.calls.size(); c-- > 0;) {
      const ListedCall& call = list_.calls[c];
      bool used = is_probe(call) && owner(call) == index_;
      if (!is_probe(call))
        prepared::for_each_value(call.results, [&](size_t value) { used |= needed[value] != 0; });
      if (!used) continue;
      runs[c] = 1;
      prepared::for_each_value(call.arguments, need);
    }
    std::vector<Tensor> given;
    for (size_t c = 0; c < list_.calls.size(); ++c) {
      if (runs[c] == 0) continue;
      if (is_probe(list_.calls[c]))
        probe(list_.calls[c], given);
      else
        call(list_.calls[c]);
    }
    if (outputs)
      prepared::for_each_value(list_.outputs,
                               [&](size_t value) { given.push_back(copied(values_[value])); });
    return given;
  }

 private:
  static bool is_probe(const ListedCall& call) { return call.rewrite == kProbe; }
  static size_t owner(const ListedCall& call) {
    return static_cast<size_t>(tenon::Scalar(call.arguments[1].literal->get()).to<int64_t>());
  }

  void probe(const ListedCall& call, std::vector<Tensor>& given) {
    for (const int64_t number : call.arguments[0].values) {
      const Tensor& tensor = values_[static_cast<size_t>(number)];
      if (call.written.empty())
        given.push_back(copied(tensor));
      else
        tenon::fill_elements(tensor, 1);
    }
  }
  void call(const ListedCall& call) {
    std::deque<std::vector<Tensor>> lists;
    std::vector<tenon_value> arguments;
    const auto tensor = [&](int64_t number) {
      return number == prepared::undefined_value ? Tensor() : values_[static_cast<size_t>(number)];
    };
    for (const ListOperand& operand : call.arguments) {
      if (operand.kind == ListOperand::Kind::tensor) {
        arguments.push_back(tenon::Argument(tensor(operand.values.front())).value());
      } else if (operand.kind == ListOperand::Kind::tensors) {
        std::vector<Tensor>& list = lists.emplace_back();
        for (const int64_t number : operand.values) list.push_back(tensor(number));
        arguments.push_back(
            tenon::Argument(tenon::TensorList(list.data(), static_cast<int64_t>(list.size())))
                .value());
      } else {
        arguments.push_back(operand.literal == nullptr ? tenon_value{} : operand.literal->get());
      }
    }
    tenon_value results[tenon::detail::max_results] = {};
    tenon::detail::check(tenon::service::ops().call, call.op.handle(),
                         static_cast<const tenon_value*>(arguments.data()),
                         static_cast<int64_t>(arguments.size()),
                         static_cast<tenon_value*>(results));
    const int64_t count = tenon::service::ops().result_count(call.op.handle());
    for (int64_t r = 0; r < count; ++r) {
      const Value value(results[r]);
      if (static_cast<size_t>(r) >= call.results.size()) continue;
      const std::vector<int64_t>& places = call.results[static_cast<size_t>(r)].values;
      const std::vector<Tensor> tensors = value.is_tensor() ? std::vector<Tensor>{value.tensor()}
                                          : value.get().tag == TENON_VALUE_TENSOR_LIST
                                              ? value.tensors()
                                              : std::vector<Tensor>{};
      for (size_t k = 0; k < places.size() && k < tensors.size(); ++k) {
        if (places[k] != prepared::undefined_value)
          values_[static_cast<size_t>(places[k])] = tensors[k];
      }
    }
  }

  const CallList& list_;
  const std::vector<Tensor>& arguments_;
  const size_t index_;
  std::vector<Tensor> values_;
};

}  // namespace

RewriteResults RewriteLists::run(const CallList& list, size_t index) const {
  const tenon::NoGrad no_grad;
  const bool writes = std::any_of(before_.calls.begin(), before_.calls.end(),
                                  [](const ListedCall& call) { return !call.written.empty(); });
  const RewriteCase& given = cases_[index].given;
  std::vector<std::vector<Tensor>> kept;
  for (const std::vector<Tensor>& tensors : given.tensors) kept.push_back(copied(tensors));
  RewriteResults results;
  tenon::seed_generator(1);
  try {
    results.tensors = ListRun(list, arguments_, index).run(!list.outputs.empty());
  } catch (const tenon::Error& error) {
    if (error.kind() == TENON_ERROR_INTERRUPTED) throw;
    results.error = error.what();
  }
  for (size_t slot = 0; slot < kept.size(); ++slot) {
    for (size_t i = 0; i < kept[slot].size(); ++i) {
      const Tensor& tensor = given.tensors[slot][i];
      if (bytes_of(tensor) == bytes_of(kept[slot][i])) continue;
      if (!writes) results.changed = format_text("'{}'", pattern_.slots[slot].type.name);
      tenon::copy_elements(tensor, kept[slot][i]);
    }
  }
  return results;
}

}  // namespace cli
