// Recorded graphs as text, Graphviz and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/graph.hpp"
#include "tenon/json.hpp"
#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN

namespace detail {

// The nodes of a graph, each under the number of its first visit.
class GraphNodes {
 public:
  int64_t number_of(Node node) {
    const auto [entry, fresh] = numbers_.emplace(node.handle(), size());
    if (fresh) nodes_.push_back(std::move(node));
    return entry->second;
  }
  const Node& operator[](int64_t number) const { return nodes_[static_cast<size_t>(number)]; }
  int64_t size() const { return static_cast<int64_t>(nodes_.size()); }

 private:
  std::unordered_map<tenon_node*, int64_t> numbers_;
  std::vector<Node> nodes_;
};

inline Json node_document(int64_t number, GraphNodes& nodes) {
  const Node node = nodes[number];
  tenon_node_info info{};
  info.size = sizeof info;
  service::graph().node_read(node.handle(), &info);
  JsonObject document;
  document.set("id", number).set("name", info.name);
  if (info.op != nullptr) document.set("op", info.op).set("plugin", info.provider);
  constexpr uint64_t of_accumulators = ~uint64_t{0};
  if (info.sequence != of_accumulators)
    document.set("sequence", static_cast<int64_t>(info.sequence));
  document.set("saved_tensors", info.saved_tensors)
      .set("saved_bytes", info.saved_bytes)
      .set("released", info.released != 0)
      .set("ctx-stashed", info.attribute_bytes > 0)
      .set("stashed_tensors", info.stashed_tensors)
      .set("attribute_bytes", info.attribute_bytes);
  JsonArray edges;
  const std::vector<Node::Edge> next = node.next_edges();
  for (size_t i = 0; i < next.size(); ++i) {
    if (!next[i].node) continue;
    edges.add(JsonObject()
                  .set("input", static_cast<int64_t>(i))
                  .set("node", nodes.number_of(next[i].node))
                  .set("output", next[i].output)
                  .json());
  }
  return document.set("edges", edges.json()).json();
}

}  // namespace detail

// The graph behind the roots:
//   {"roots": [{"node", "output"}...],
//    "nodes": [{"id", "name", "op", "plugin", "sequence", "saved_tensors", "saved_bytes",
//               "released", "ctx-stashed", "stashed_tensors", "attribute_bytes",
//               "edges": [{"input", "node", "output"}...]}...]}
// "node" is an id, and the id of a node is its position. ArgumentError for a root that is undefined.
inline Json graph_document(const std::vector<Tensor>& roots) {
  detail::GraphNodes nodes;
  JsonArray starts, documents;
  for (const Tensor& root : roots) {
    if (!root.defined()) throw ArgumentError("a root of the graph is undefined");
    tenon_node* node = nullptr;
    uint32_t output = 0;
    detail::check(service::graph().gradient_node, root.handle(), &node, &output);
    if (node == nullptr) continue;  // a constant has no graph
    starts.add(
        JsonObject().set("node", nodes.number_of(Node::take(node))).set("output", output).json());
  }
  for (int64_t i = 0; i < nodes.size(); ++i) documents.add(detail::node_document(i, nodes));
  return JsonObject().set("roots", starts.json()).set("nodes", documents.json()).json();
}
inline std::string graph_json(const std::vector<Tensor>& roots) {  // JSON
  return graph_document(roots).dump(2);
}

namespace detail {

// "op 'mul' of 'math', 2 tensors saved, 32 bytes".
inline std::string node_remarks(const Json& node, const char* separator) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : separator) + part; };
  if (node["op"].defined()) add(node["op"].text() + " of plugin " + node["plugin"].text());
  const int64_t saved = node["saved_tensors"].integer();
  if (node["released"].as_bool()) {
    add("released");
  } else if (saved != 0) {
    add("saved: " + std::to_string(saved) + (saved == 1 ? " tensor, " : " tensors, ") +
        std::to_string(node["saved_bytes"].integer()) + " bytes");
  }
  if (node["ctx-stashed"].as_bool()) add("ctx-stashed");
  return text;
}

inline std::string dot_escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace detail

// One line for each node, in the order of a walk from the roots:
//   #0 MulBackward0 (mul of plugin math; saved: 2 tensors, 32 bytes) <- #1, #2
inline std::string graph_text(const std::vector<Tensor>& roots) {
  const Json nodes = graph_document(roots)["nodes"];
  std::string text;
  for (int64_t i = 0; i < nodes.size(); ++i) {
    const Json node = nodes[i], edges = node["edges"];
    const std::string remarks = detail::node_remarks(node, "; ");
    text += "#" + std::to_string(i) + " " + node["name"].text();
    if (!remarks.empty()) text += " (" + remarks + ")";
    for (int64_t e = 0; e < edges.size(); ++e) {
      text += (e == 0 ? " <- #" : ", #") + std::to_string(edges[e]["node"].integer());
      const int64_t output = edges[e]["output"].integer();
      if (output != 0) text += "." + std::to_string(output);
    }
    text += "\n";
  }
  return text;
}

// For Graphviz: gradients flow along the arrows, each labelled with the input that it is for.
inline std::string graph_dot(const std::vector<Tensor>& roots) {
  const Json nodes = graph_document(roots)["nodes"];
  std::string text = "digraph graph_of_calls {\n  node [shape=box];\n";
  for (int64_t i = 0; i < nodes.size(); ++i) {
    const Json node = nodes[i], edges = node["edges"];
    const std::string name = "n" + std::to_string(i), remarks = detail::node_remarks(node, "\n");
    std::string label = detail::dot_escaped(node["name"].text());
    if (!remarks.empty()) label += "\\n";
    for (const char c : detail::dot_escaped(remarks)) {
      if (c == '\n')
        label += "\\n";
      else
        label += c;
    }
    text.append("  ").append(name).append(" [label=\"").append(label).append("\"];\n");
    for (int64_t e = 0; e < edges.size(); ++e) {
      text.append("  ").append(name);
      text.append(" -> n").append(std::to_string(edges[e]["node"].integer()));
      text.append(" [label=\"").append(std::to_string(edges[e]["input"].integer()));
      text.append("\"];\n");
    }
  }
  return text + "}\n";
}

TENON_NAMESPACE_END
