// The list of a prepared model as a graph.
#include <algorithm>

#include <tenon/grad_mode.hpp>
#include <tenon/prepare/prepare.hpp>

#include "lib/base/format.hpp"
#include "parts.hpp"

TENON_NAMESPACE_BEGIN

namespace drawing {

namespace {

using prepared::CallList;
using prepared::ListedCall;
using prepared::ListOperand;
using prepared::ListValue;

// Calls whose results reach an output, or that change a tensor.
std::vector<bool> used_calls(const CallList& list) {
  std::vector<bool> values(list.values.size()), calls(list.calls.size());
  const auto need = [&](size_t value) { values[value] = true; };
  prepared::for_each_value(list.outputs, need);
  for (size_t c = list.calls.size(); c-- > 0;) {
    const ListedCall& call = list.calls[c];
    bool used = !call.written.empty();
    prepared::for_each_value(call.results, [&](size_t value) { used = used || values[value]; });
    calls[c] = used;
    if (used) prepared::for_each_value(call.arguments, need);
  }
  return calls;
}

const Tensor& shown(const ListValue& value) {
  return value.constant.defined() ? value.constant : value.layout;
}

std::string chosen_plugin(const CallList& list, const ListedCall& call) {
  std::vector<tenon_value> values;
  std::vector<std::vector<tenon_tensor*>> lists(call.arguments.size());
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const ListOperand& argument = call.arguments[i];
    tenon_value value{};
    if (argument.kind == ListOperand::Kind::literal) {
      if (argument.literal != nullptr) value = argument.literal->get();
    } else {
      for (const int64_t number : argument.values)
        lists[i].push_back(number == prepared::undefined_value
                               ? nullptr
                               : shown(list.values[static_cast<size_t>(number)]).handle());
      if (argument.kind == ListOperand::Kind::tensors) {
        value.tag = TENON_VALUE_TENSOR_LIST;
        value.length = static_cast<uint32_t>(lists[i].size());
        value.as.tensors = lists[i].data();
      } else if (!lists[i].empty() && lists[i].front() != nullptr) {
        value.tag = TENON_VALUE_TENSOR;
        value.as.tensor = lists[i].front();
      }
    }
    values.push_back(value);
  }
  return provider_of(call.op.handle(), values.data(), static_cast<int64_t>(values.size()));
}

Graph graph_of(const CallList& list, const std::vector<std::string>& names) {
  Graph graph;
  std::vector<int64_t> makers(list.values.size(), -1);
  const auto add = [&](GraphNode node) {
    graph.nodes.push_back(std::move(node));
    return static_cast<int64_t>(graph.nodes.size()) - 1;
  };
  for (size_t v = 0; v < list.values.size(); ++v) {
    const ListValue& value = list.values[v];
    if (value.kind != ListValue::Kind::argument) continue;
    const auto place = static_cast<size_t>(value.argument);
    makers[v] = add({GraphNode::Kind::input,
                     place < names.size() ? names[place] : lib::format_text("input {}", place),
                     {tensor_text(value.layout)},
                     "",
                     -1});
  }
  const std::vector<bool> used = used_calls(list);
  for (size_t c = 0; c < list.calls.size(); ++c) {
    if (!used[c]) continue;
    const ListedCall& call = list.calls[c];
    const int64_t number =
        add({GraphNode::Kind::op, call.op.name(), {}, chosen_plugin(list, call), -1});
    GraphNode& node = graph.nodes.back();
    prepared::for_each_value(call.arguments, [&](size_t operand) {
      const ListValue& value = list.values[operand];
      const std::string text = tensor_text(shown(value));
      if (makers[operand] >= 0)
        graph.edges.push_back({makers[operand], number, text});
      else
        node.lines.push_back(
            lib::format_text("{} {}", value.name.empty() ? "constant" : value.name, text));
    });
    if (!call.rewrite.empty()) node.lines.push_back(lib::format_text("by {}", call.rewrite));
    prepared::for_each_value(call.results, [&](size_t result) { makers[result] = number; });
  }
  for (size_t i = 0; i < list.outputs.size() - std::min(list.compared.size(), list.outputs.size());
       ++i) {
    const ListOperand& output = list.outputs[i];
    prepared::for_each_value(output, [&](size_t value) {
      const std::string text = tensor_text(shown(list.values[value]));
      const int64_t number =
          add({GraphNode::Kind::output,
               list.outputs.size() == 1 ? "output" : lib::format_text("output {}", i),
               {text},
               "",
               -1});
      if (makers[value] >= 0) graph.edges.push_back({makers[value], number, text});
    });
  }
  return graph;
}

}  // namespace

Graph prepared_graph(const Module& model, const std::vector<Tensor>& inputs) {
  const NoGrad no_grad;
  Graph graph;
  bool listed = false;
  PrepareOptions options;
  options.passes.emplace_back([&](CallList& list) {
    graph = graph_of(list, input_names(model, inputs.size()));
    listed = true;
  });
  const Prepared prepared = prepare(model, {inputs}, options);
  if (!listed) {
    const std::vector<PreparedList> lists = prepared.lists();
    const std::vector<std::string> reasons = prepared.reasons();
    throw ValueError(lib::format_text("the model runs as it is, not as a list: {}",
                                      !lists.empty() && !lists.front().reason.empty()
                                          ? lists.front().reason
                                      : reasons.empty() ? "it has not been called"
                                                        : reasons.front()));
  }
  graph.title = lib::format_text("{}, prepared", model.type());
  return graph;
}

}  // namespace drawing

TENON_NAMESPACE_END
