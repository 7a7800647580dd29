// The recorded graph of a model's outputs, with the shapes of the gradients that a backward passes.
#include <map>
#include <utility>

#include <tenon/autograd.hpp>
#include <tenon/graph.hpp>
#include <tenon/mode.hpp>
#include <tenon/ops.hpp>

#include "lib/base/format.hpp"
#include "parts.hpp"

TENON_NAMESPACE_BEGIN

namespace drawing {

namespace {

// The module in whose forward each node was recorded.
class NodeModules : public Mode {
 public:
  explicit NodeModules(const ModuleTracker& modules) : Mode("graph"), modules_(modules) {}

  Results tenon_function(const Call& call) override {
    Results results = call.call_parent();
    for (int64_t i = 0; i < results.size(); ++i) {
      const tenon_value& value = results.slots()[i];
      if (value.tag != TENON_VALUE_TENSOR || value.as.tensor == nullptr) continue;
      const Node node = Tensor::borrow(value.as.tensor).grad_fn();
      if (node) by_sequence_.emplace(node.sequence(), modules_.current());
    }
    return results;
  }
  // Module of a node; within a composite call that of the next node that is known, which is the call's.
  int64_t of(const Node& node) const {
    const auto found = by_sequence_.lower_bound(node.sequence());
    return found == by_sequence_.end() ? -1 : found->second;
  }

 private:
  const ModuleTracker& modules_;
  std::map<uint64_t, int64_t> by_sequence_;
};

// A walk from the roots, each node once.
class Walk {
 public:
  Walk(Graph& graph, const NodeModules& modules) : graph_(graph), modules_(modules) {}

  int64_t number_of(const Node& node) {
    const auto [entry, fresh] = numbers_.emplace(node.handle(), nodes_.size());
    if (fresh) {
      nodes_.push_back(node);
      GraphNode drawn{GraphNode::Kind::op, node.name(), {}, node.provider(), modules_.of(node)};
      if (!node.op().empty()) drawn.lines.push_back(node.op());
      first_node_ = first_node_ < 0 ? static_cast<int64_t>(graph_.nodes.size()) : first_node_;
      graph_.nodes.push_back(std::move(drawn));
    }
    return first_node_ + static_cast<int64_t>(entry->second);
  }
  void name_leaf(const Node& node, const std::string& name, const Tensor& tensor) {
    const auto known = numbers_.find(node.handle());
    if (known == numbers_.end()) return;
    GraphNode& drawn = graph_.nodes[static_cast<size_t>(first_node_) + known->second];
    drawn.kind = GraphNode::Kind::output;
    drawn.title = name;
    drawn.lines = {lib::format_text("gradient of {}", tensor_text(tensor))};
    drawn.module = -1;
  }

  struct Link {
    size_t edge;  // index of Graph::edges
    Node node;
    uint32_t output;
  };
  void walk() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const Node::Edge& next : Node(nodes_[i]).next_edges()) {
        if (!next.node) continue;
        const int64_t to = number_of(next.node);
        links_.push_back({graph_.edges.size(), next.node, next.output});
        graph_.edges.push_back({first_node_ + static_cast<int64_t>(i), to, ""});
      }
    }
  }
  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<Link>& links() { return links_; }

 private:
  Graph& graph_;
  const NodeModules& modules_;
  std::unordered_map<tenon_node*, size_t> numbers_;
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  int64_t first_node_ = -1;
};

// Puts back the gradients that parameters had.
class SavedGradients {
 public:
  explicit SavedGradients(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {
    for (Tensor& parameter : parameters_) {
      gradients_.push_back(parameter.grad());
      parameter.set_grad(Tensor());
    }
  }
  ~SavedGradients() {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      try {
        parameters_[i].set_grad(gradients_[i]);
      } catch (const Error&) {  // it was its gradient before
      }
    }
  }
  SavedGradients(const SavedGradients&) = delete;
  SavedGradients& operator=(const SavedGradients&) = delete;

 private:
  std::vector<Tensor> parameters_, gradients_;
};

Node gradient_node(const Tensor& tensor) {
  tenon_node* node = nullptr;
  uint32_t output = 0;
  detail::check(service::graph().gradient_node, tensor.handle(), &node, &output);
  return Node::take(node);
}

}  // namespace

Graph backward_graph(const Module& model, const std::vector<Tensor>& inputs) {
  Graph graph;
  graph.title = lib::format_text("backward of {}", model.type());
  const GradMode grad_mode(true);
  const SavedGradients saved(model.parameters());
  std::vector<Tensor> outputs;
  const ModuleTracker tracker(model, graph);
  NodeModules modules(tracker);
  {
    const ModeScope scope(modules, Level::recorder);
    outputs = call_model(model, inputs);
  }
  Walk walk(graph, modules);
  std::vector<Tensor> roots;
  std::vector<int64_t> root_nodes;
  for (const Tensor& output : outputs) {
    if (!output.requires_grad()) continue;
    roots.push_back(output);
    graph.nodes.push_back({GraphNode::Kind::input,
                           lib::format_text("gradient of output {}", root_nodes.size()),
                           {tensor_text(output)},
                           "",
                           -1});
    root_nodes.push_back(static_cast<int64_t>(graph.nodes.size()) - 1);
  }
  if (roots.empty())
    throw ValueError("no output of the model requires grad: there is no backward to draw");
  if (roots.size() == 1) graph.nodes.front().title = "gradient of output";
  for (size_t i = 0; i < roots.size(); ++i)
    graph.edges.push_back(
        {root_nodes[i], walk.number_of(gradient_node(roots[i])), tensor_text(roots[i])});
  walk.walk();

  // Hooks run with the gradients of a node's results: their shapes are labels of the edges that lead to it.
  std::map<std::pair<const tenon_node*, uint32_t>, std::string> shapes;
  std::vector<Hook> hooks;
  for (const Node& node : walk.nodes()) {
    const tenon_node* const key = node.handle();
    hooks.push_back(node.register_pre_hook([&shapes, key](const std::vector<Tensor>& gradients) {
      for (size_t i = 0; i < gradients.size(); ++i) {
        if (gradients[i].defined())
          shapes[{key, static_cast<uint32_t>(i)}] = tensor_text(gradients[i]);
      }
    }));
  }
  Tensor total;
  for (const Tensor& root : roots) {
    const Tensor part = sum(root);
    total = total.defined() ? total + part.to(total.dtype()) : part;
  }
  total.backward();
  for (const Hook& hook : hooks) hook.remove();
  for (const auto& link : walk.links()) {
    const auto shape = shapes.find({link.node.handle(), link.output});
    if (shape != shapes.end()) graph.edges[link.edge].label = shape->second;
  }
  for (const auto& [name, parameter] : model.named_parameters()) {
    if (parameter.requires_grad()) walk.name_leaf(gradient_node(parameter), name, parameter);
  }
  return graph;
}

}  // namespace drawing

TENON_NAMESPACE_END
