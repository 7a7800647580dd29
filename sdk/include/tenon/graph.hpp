// Recorded graphs: nodes, and graphs as text, Graphviz and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/hooks.hpp"
#include "tenon/json.hpp"
#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN

// A recorded call, or an accumulator at a leaf. A counted reference; undefined where there is none.
// Any thread.
class Node {
 public:
  Node() = default;
  static Node take(tenon_node* handle) noexcept {
    Node node;
    node.handle_ = handle;
    return node;
  }
  Node(const Node& other) noexcept : handle_(other.handle_) {
    if (handle_ != nullptr) host().node_retain(handle_);
  }
  Node(Node&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Node& operator=(Node other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Node() {
    if (handle_ != nullptr) host().node_release(handle_);
  }
  bool defined() const { return handle_ != nullptr; }
  explicit operator bool() const { return defined(); }
  tenon_node* handle() const { return handle_; }
  bool is_same(const Node& other) const { return handle_ == other.handle_; }

  // ---- properties; "" and 0 for an undefined node ----
  std::string name() const { return text(info().name); }  // "MulBackward0"
  std::string op() const { return text(info().op); }      // "" for the engine's own nodes
  std::string provider() const { return text(info().provider); }
  uint64_t sequence() const { return info().sequence; }
  int64_t saved_tensors() const { return info().saved_tensors; }
  int64_t saved_bytes() const { return info().saved_bytes; }
  bool released() const { return info().released != 0; }
  bool has_stash() const { return info().stashed != 0; }

  // Where the gradient of each input goes; `node` is undefined where it goes nowhere.
  struct Edge;
  inline std::vector<Edge> next_edges() const;

  // `function(const std::vector<Tensor>& gradients)` runs before the node, with the gradients of
  // its results; it may return as many to replace them; an undefined one replaces nothing.
  template <class Function>
  Hook register_pre_hook(Function&& function) const {
    return add<&run_before<std::decay_t<Function>>>(TENON_HOOK_NODE_BEFORE,
                                                    static_cast<Function&&>(function));
  }
  // `function(inputs, results)` runs after it, with the gradients of its inputs and its results; it
  // may return some to replace the inputs'.
  template <class Function>
  Hook register_hook(Function&& function) const {
    return add<&run_after<std::decay_t<Function>>>(TENON_HOOK_NODE_AFTER,
                                                   static_cast<Function&&>(function));
  }

 private:
  static std::string text(const char* found) { return found == nullptr ? "" : found; }
  tenon_node_info info() const {
    tenon_node_info info{};
    info.size = sizeof info;
    if (handle_ != nullptr) host().node_read(handle_, &info);
    return info;
  }
  static std::vector<Tensor> list(tenon_tensor* const* tensors, int64_t count) {
    std::vector<Tensor> found;
    for (int64_t i = 0; i < count; ++i) found.push_back(Tensor::borrow(tensors[i]));
    return found;
  }
  template <class Function>
  static tenon_status TENON_CALL run_before(void* state, tenon_tensor* const* gradients,
                                            int64_t count, tenon_tensor* const*, int64_t,
                                            tenon_tensor** replacements, tenon_error** error) {
    return detail::guarded(error, [&] {
      detail::call_hook(*static_cast<Function*>(state), replacements, static_cast<size_t>(count),
                        list(gradients, count));
    });
  }
  template <class Function>
  static tenon_status TENON_CALL run_after(void* state, tenon_tensor* const* gradients,
                                           int64_t count, tenon_tensor* const* incoming,
                                           int64_t incoming_count, tenon_tensor** replacements,
                                           tenon_error** error) {
    return detail::guarded(error, [&] {
      detail::call_hook(*static_cast<Function*>(state), replacements, static_cast<size_t>(count),
                        list(gradients, count), list(incoming, incoming_count));
    });
  }
  template <tenon_hook_function Run, class Function>
  Hook add(int32_t kind, Function&& function) const {
    using Kept = std::decay_t<Function>;
    tenon_hook* hook = nullptr;
    detail::check(host().node_add_hook, handle_, kind, Run,
                  static_cast<void*>(new Kept(static_cast<Function&&>(function))),
                  &detail::destroy_hook<Kept>, &hook);
    return Hook::take(hook);
  }

  tenon_node* handle_ = nullptr;
};

struct Node::Edge {
  Node node;
  uint32_t output;  // of `node`
};

inline std::vector<Node::Edge> Node::next_edges() const {
  std::vector<Edge> edges;
  const uint32_t count = info().edges;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t output = 0;
    Node next = take(host().node_edge(handle_, i, &output));
    edges.push_back({std::move(next), output});
  }
  return edges;
}

inline Node Tensor::grad_fn() const { return Node::take(host().tensor_node(handle_)); }

// The graph behind the roots, as the graph_describe slot documents it.
inline Json graph_document(const std::vector<Tensor>& roots) {
  tenon_json* document = nullptr;
  detail::check(host().graph_describe, reinterpret_cast<tenon_tensor* const*>(roots.data()),
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
