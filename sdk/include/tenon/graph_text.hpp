// Recorded graphs as text, Graphviz and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/json.hpp"
#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN

// The graph behind the roots, as the graph_describe slot documents it.
inline Json graph_document(const std::vector<Tensor>& roots) {
  tenon_json* document = nullptr;
  detail::check(service::graph().describe, reinterpret_cast<tenon_tensor* const*>(roots.data()),
                static_cast<int64_t>(roots.size()), &document);
  return Json::take(document);
}
inline std::string graph_json(const std::vector<Tensor>& roots) {
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
