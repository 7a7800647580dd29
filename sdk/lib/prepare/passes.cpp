#include "passes.hpp"

#include <algorithm>
#include <utility>

TENON_NAMESPACE_BEGIN

namespace prepared {

namespace {

using Flags = std::vector<char>;

Flags memory_flags(const CallList& list) {
  int64_t most = -1;
  for (const ListValue& value : list.values) most = std::max(most, value.memory);
  return Flags(static_cast<size_t>(most + 1), 0);
}
size_t memory_of(const CallList& list, size_t number) {
  return static_cast<size_t>(list.values[number].memory);
}

// A call on tensors with data.
class ConstantCall {
 public:
  ConstantCall(const CallList& list, const ListedCall& call) : call_(call) {
    for (const ListOperand& operand : call.arguments) {
      tenon_value value{};
      if (operand.kind == ListOperand::Kind::tensor) {
        value = Argument(constant(list, operand.values.front())).value();
      } else if (operand.kind == ListOperand::Kind::tensors) {
        std::vector<tenon_tensor*>& entries = lists_.emplace_back();
        for (const int64_t number : operand.values)
          entries.push_back(constant(list, number).handle());
        value.tag = TENON_VALUE_TENSOR_LIST;
        value.length = static_cast<uint32_t>(entries.size());
        value.as.tensors = entries.data();
      } else if (operand.literal != nullptr) {
        value = operand.literal->get();
      }
      arguments_.push_back(value);
    }
  }
  std::vector<Value> run() const {
    tenon_value results[detail::max_results] = {};
    detail::check(service::ops().call, call_.op.handle(), arguments_.data(),
                  static_cast<int64_t>(arguments_.size()), results);
    std::vector<Value> given;
    for (size_t r = 0; r < call_.results.size(); ++r) given.emplace_back(results[r]);
    return given;
  }

 private:
  static Tensor constant(const CallList& list, int64_t number) {
    return number == undefined_value ? Tensor() : list.values[static_cast<size_t>(number)].constant;
  }
  const ListedCall& call_;
  std::vector<std::vector<tenon_tensor*>> lists_;
  std::vector<tenon_value> arguments_;
};

void make_constant(ListValue& value, const Tensor& tensor) {
  value.kind = ListValue::Kind::constant;
  value.constant = tensor;
}

void fold(CallList& list, const ListedCall& call) {
  const std::vector<Value> results = ConstantCall(list, call).run();
  for (size_t r = 0; r < results.size(); ++r) {
    const ListOperand& operand = call.results[r];
    if (operand.kind == ListOperand::Kind::tensor && operand.values.front() != undefined_value)
      make_constant(list.values[static_cast<size_t>(operand.values.front())], results[r].tensor());
    if (operand.kind != ListOperand::Kind::tensors) continue;
    const std::vector<Tensor> tensors = results[r].tensors();
    for (size_t k = 0; k < operand.values.size() && k < tensors.size(); ++k) {
      if (operand.values[k] != undefined_value)
        make_constant(list.values[static_cast<size_t>(operand.values[k])], tensors[k]);
    }
  }
}

}  // namespace

std::vector<std::string> fold_constants(CallList& list) {
  Flags fixed = memory_flags(list);  // memory that stays as it is
  const auto keep = [&](size_t number) { fixed[memory_of(list, number)] = 1; };
  for_each_value(list.outputs, keep);
  for (const ListedCall& call : list.calls) {
    for (const size_t place : call.written) for_each_value(call.arguments[place], keep);
  }
  std::vector<std::string> folded;
  std::vector<ListedCall> left;
  for (ListedCall& call : list.calls) {
    bool constant = call.written.empty() && !call.results.empty();
    for_each_value(call.arguments, [&](size_t number) {
      constant &= list.values[number].kind == ListValue::Kind::constant;
    });
    for_each_value(call.results,
                   [&](size_t number) { constant &= fixed[memory_of(list, number)] == 0; });
    if (constant) {
      fold(list, call);
      folded.push_back(call.op.name());
    } else {
      left.push_back(std::move(call));
    }
  }
  list.calls = std::move(left);
  return folded;
}

std::vector<std::string> drop_unused(CallList& list) {
  Flags read(list.values.size(), 0), memory = memory_flags(list), needed(list.calls.size(), 0);
  const auto use = [&](size_t number) { read[number] = memory[memory_of(list, number)] = 1; };
  for (size_t i = 0; i < list.values.size(); ++i) {
    if (list.values[i].kind == ListValue::Kind::argument) memory[memory_of(list, i)] = 1;
  }
  for_each_value(list.outputs, use);
  // A call may be needed for memory that only an earlier call reads, as part of a loop: until nothing
  // is added.
  for (bool added = true; added;) {
    added = false;
    for (size_t i = list.calls.size(); i-- > 0;) {
      const ListedCall& call = list.calls[i];
      if (needed[i] != 0) continue;
      bool used = call.results.empty();
      for_each_value(call.results, [&](size_t number) { used |= read[number] != 0; });
      for (const size_t place : call.written) {
        for_each_value(call.arguments[place],
                       [&](size_t number) { used |= memory[memory_of(list, number)] != 0; });
      }
      if (!used) continue;
      needed[i] = 1;
      added = true;
      for_each_value(call.arguments, use);
    }
  }
  std::vector<std::string> dropped;
  std::vector<ListedCall> left;
  for (size_t i = 0; i < list.calls.size(); ++i) {
    if (needed[i] != 0)
      left.push_back(std::move(list.calls[i]));
    else
      dropped.push_back(list.calls[i].op.name());
  }
  list.calls = std::move(left);
  return dropped;
}

}  // namespace prepared

TENON_NAMESPACE_END
