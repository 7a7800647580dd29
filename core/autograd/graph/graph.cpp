// Walking a graph, and what each node says of itself.
#include "core/autograd/graph/graph.hpp"

#include <string>
#include <unordered_map>
#include <vector>

#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/node.hpp"
#include "core/base/error.hpp"

namespace tenon::core {

namespace {

class Walk {
 public:
  // The node's position, after those that were met before.
  size_t id_of(Node* node) {
    const auto [entry, fresh] = ids_.emplace(node, nodes_.size());
    if (fresh) nodes_.push_back(node);
    return entry->second;
  }
  const std::vector<Node*>& nodes() const { return nodes_; }

 private:
  std::unordered_map<Node*, size_t> ids_;
  std::vector<Node*> nodes_;
};

void put_node(JsonBuilder& document, Walk& walk, size_t id) {
  Node& node = *walk.nodes()[id];
  const NodeReport report = node.report();
  document.begin_object().member("id", id).member("name", node.name());
  if (const Implementation* implementation = node.implementation()) {
    document.member("op", implementation->schema.name).member("plugin", implementation->provider);
  }
  if (node.sequence() != kAccumulatorSequence) document.member("sequence", node.sequence());
  document.member("saved_tensors", report.saved_tensors)
      .member("saved_bytes", report.saved_bytes)
      .member("released", node.released())
      .member("ctx-stashed", report.attribute_bytes > 0)
      .member("stashed_tensors", report.stashed_tensors)
      .member("attribute_bytes", report.attribute_bytes);
  document.key("edges").begin_array();
  for (size_t i = 0; i < node.edges().size(); ++i) {
    const Edge& edge = node.edges()[i];
    if (!edge.node) continue;
    document.begin_object()
        .member("input", i)
        .member("node", walk.id_of(edge.node.get()))
        .member("output", edge.output)
        .end_object();
  }
  document.end_array().end_object();
}

}  // namespace

Json describe_graph(std::span<Tensor* const> roots) {
  std::vector<Edge> held;
  Walk walk;
  JsonBuilder document;
  document.begin_object().key("roots").begin_array();
  for (Tensor* root : roots) {
    if (root == nullptr) throw Error(TENON_ERROR_ARGUMENT, "a root of the graph is undefined");
    refresh_history(*root);
    const Edge& edge = held.emplace_back(gradient_edge(*root));
    if (!edge.node) continue;  // a constant has no graph
    document.begin_object()
        .member("node", walk.id_of(edge.node.get()))
        .member("output", edge.output)
        .end_object();
  }
  document.end_array().key("nodes").begin_array();
  for (size_t id = 0; id < walk.nodes().size(); ++id) put_node(document, walk, id);
  document.end_array().end_object();
  return document.finish();
}

}  // namespace tenon::core
