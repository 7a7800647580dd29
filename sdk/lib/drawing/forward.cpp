// The calls of a model's forward, listed by a mode.
#include <algorithm>
#include <optional>

#include <tenon/autograd.hpp>
#include <tenon/mode.hpp>
#include <tenon/runtime.hpp>
#include <tenon/shapes_only.hpp>

#include "lib/base/format.hpp"
#include "parts.hpp"

TENON_NAMESPACE_BEGIN

namespace drawing {

std::string tensor_text(const Tensor& tensor) {
  std::string text = std::string(dtype_text(tensor.dtype())) + "[";
  const char* separator = "";
  for (const int64_t size : tensor.sizes()) {
    text += separator + std::to_string(size);
    separator = ", ";
  }
  return text + "]";
}

ModuleTracker::ModuleTracker(const Module& model, Graph& graph) {
  std::unordered_map<std::string, int64_t> known;
  for (const auto& [name, module] : model.named_modules()) {
    int64_t at = -1;
    if (!name.empty()) {
      at = static_cast<int64_t>(graph.modules.size());
      const size_t dot = name.rfind('.');
      const auto parent = known.find(dot == std::string::npos ? "" : name.substr(0, dot));
      graph.modules.push_back({name, module.type(), parent == known.end() ? -1 : parent->second});
      known.emplace(name, at);
    }
    indices_.emplace(module.number(), at);
  }
}
// A module that the model calls and does not contain belongs to its caller.
void ModuleTracker::begins(const Module& module, const HookValues& /*arguments*/) {
  const auto index = indices_.find(module.number());
  running_.push_back(index == indices_.end() ? current() : index->second);
}
void ModuleTracker::ended(const Module& /*module*/, const HookValues& /*results*/) {
  running_.pop_back();
}
void ModuleTracker::failed(const Module& /*module*/) { running_.pop_back(); }

std::vector<Tensor> call_model(const Module& model, const std::vector<Tensor>& inputs) {
  std::vector<tenon_value> values;
  values.reserve(inputs.size());
  for (const Tensor& input : inputs) values.push_back(Argument(input).value());
  tenon_value results[detail::max_results]{};
  detail::check(service::modules().call, model.handle(),
                static_cast<const tenon_value*>(values.data()), static_cast<int64_t>(values.size()),
                static_cast<const tenon_string*>(nullptr), static_cast<const tenon_value*>(nullptr),
                int64_t{0}, static_cast<tenon_value*>(results), int64_t{-1});
  std::vector<Tensor> tensors;
  for (const tenon_value& result : results) {
    const Value value(result);
    if (value.is_tensor())
      tensors.push_back(value.tensor());
    else if (result.tag == TENON_VALUE_TENSOR_LIST)
      for (const Tensor& tensor : value.tensors()) tensors.push_back(tensor);
  }
  return tensors;
}

std::vector<std::string> input_names(const Module& model, size_t count) {
  const Json parameters = parse_schema(model.forward_schema())["parameters"];
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    const Json name = parameters[static_cast<int64_t>(i)]["name"];
    names.push_back(name.defined() ? name.text() : lib::format_text("input {}", i));
  }
  return names;
}

std::string provider_of(const tenon_op* op, const tenon_value* arguments, int64_t count) {
  tenon_prepared_call* chosen = nullptr;
  tenon_error* error = nullptr;
  if (service::calls().prepare(op, arguments, count, &chosen, &error) != TENON_OK) {
    service::values().error_release(error);
    return {};
  }
  std::string provider = service::calls().provider(chosen);
  service::calls().release(chosen);
  return provider;
}

namespace {

// Tensors and the nodes that made them. Those that it knows are kept, so that no other gets the handle.
class Recorder : public Mode {
 public:
  Recorder(const Module& model, Graph& graph, const ModuleTracker& modules)
      : Mode("graph"), graph_(graph), modules_(modules) {
    for (const auto& [tensor_name, tensor] : model.named_parameters())
      members_.emplace(tensor.handle(), tensor_name);
    for (const auto& [tensor_name, tensor] : model.named_buffers())
      members_.emplace(tensor.handle(), tensor_name);
  }

  void add_input(const std::string& input, const Tensor& tensor) {
    graph_.nodes.push_back({GraphNode::Kind::input, input, {tensor_text(tensor)}, "", -1});
    made(tensor);
  }
  void add_outputs(const std::vector<Tensor>& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto maker = makers_.find(outputs[i].handle());
      graph_.nodes.push_back({GraphNode::Kind::output,
                              outputs.size() == 1 ? "output" : lib::format_text("output {}", i),
                              {tensor_text(outputs[i])},
                              "",
                              -1});
      if (maker != makers_.end())
        graph_.edges.push_back({maker->second, static_cast<int64_t>(graph_.nodes.size()) - 1,
                                tensor_text(outputs[i])});
    }
  }

  Results tenon_function(const Call& call) override {
    const auto number = static_cast<int64_t>(graph_.nodes.size());
    GraphNode node{GraphNode::Kind::op, call.name(), {}, "", modules_.current()};
    const tenon_call& record = *call.handle();
    node.provider = provider_of(record.op, record.arguments, record.argument_count);
    std::vector<GraphEdge> edges;
    call.each_tensor([&](const Tensor& operand) {
      const auto maker = makers_.find(operand.handle());
      if (maker != makers_.end()) {
        edges.push_back({maker->second, number, tensor_text(operand)});
        return;
      }
      const auto member = members_.find(operand.handle());
      const std::string text = tensor_text(operand);
      node.lines.push_back(member == members_.end()
                               ? lib::format_text("constant {}", text)
                               : lib::format_text("{} {}", last_part(member->second), text));
    });
    Results results = call.call_parent();
    graph_.nodes.push_back(std::move(node));
    graph_.edges.insert(graph_.edges.end(), edges.begin(), edges.end());
    for (int64_t i = 0; i < results.size(); ++i) {
      const tenon_value& value = results.slots()[i];
      if (value.tag == TENON_VALUE_TENSOR) made(Tensor::borrow(value.as.tensor));
      for (uint32_t k = 0; value.tag == TENON_VALUE_TENSOR_LIST && k < value.length; ++k)
        made(Tensor::borrow(value.as.tensors[k]));
    }
    return results;
  }

 private:
  static std::string last_part(const std::string& member) {
    return member.substr(member.rfind('.') + 1);
  }
  // By the last node.
  void made(const Tensor& tensor) {
    if (!tensor.defined()) return;
    kept_.push_back(tensor);
    makers_[tensor.handle()] = static_cast<int64_t>(graph_.nodes.size()) - 1;
  }

  Graph& graph_;
  const ModuleTracker& modules_;
  std::unordered_map<const tenon_tensor*, int64_t> makers_;
  std::unordered_map<const tenon_tensor*, std::string> members_;
  std::vector<Tensor> kept_;
};

// Nodes that lead to nothing, such as a shape that the model reads, stay; nodes of ops without tensors at
// either end are left out by their lack of edges.
void drop_unconnected(Graph& graph) {
  std::vector<bool> used(graph.nodes.size());
  for (const GraphEdge& edge : graph.edges)
    used[static_cast<size_t>(edge.from)] = used[static_cast<size_t>(edge.to)] = true;
  std::vector<int64_t> numbers(graph.nodes.size(), -1);
  std::vector<GraphNode> nodes;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!used[i] && graph.nodes[i].kind == GraphNode::Kind::op) continue;
    numbers[i] = static_cast<int64_t>(nodes.size());
    nodes.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(nodes);
  for (GraphEdge& edge : graph.edges) {
    edge.from = numbers[static_cast<size_t>(edge.from)];
    edge.to = numbers[static_cast<size_t>(edge.to)];
  }
}

}  // namespace

Graph forward_graph(const Module& model, const std::vector<Tensor>& inputs) {
  Graph graph;
  graph.title = model.type();
  const ShapesOnly shapes;
  const NoGrad no_grad;
  const ModuleTracker modules(model, graph);
  Recorder recorder(model, graph, modules);
  const std::vector<std::string> names = input_names(model, inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) recorder.add_input(names[i], inputs[i]);
  std::vector<Tensor> outputs;
  {
    const ModeScope scope(recorder, Level::recorder);
    outputs = call_model(model, inputs);
  }
  recorder.add_outputs(outputs);
  drop_unconnected(graph);
  return graph;
}

}  // namespace drawing

TENON_NAMESPACE_END
