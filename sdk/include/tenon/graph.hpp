// Nodes of recorded graphs; graph_text.hpp has graphs as text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/hooks.hpp"
#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN

// A recorded call, or an accumulator at a leaf. A counted reference; undefined where there is none.
// Any thread.
class Node {
 public:
  Node() = default;
  static Node take(tenon_node* handle) noexcept {  // takes the reference
    Node node;
    node.handle_ = handle;
    return node;
  }
  Node(const Node& other) noexcept : handle_(other.handle_) {
    if (handle_ != nullptr) service::graph().node_retain(handle_);
  }
  Node(Node&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Node& operator=(Node other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Node() {
    if (handle_ != nullptr) service::graph().node_release(handle_);
  }
  bool defined() const { return handle_ != nullptr; }   // false of leaves and constants
  explicit operator bool() const { return defined(); }  // as defined()
  tenon_node* handle() const { return handle_; }        // borrowed
  bool is_same(const Node& other) const { return handle_ == other.handle_; }  // one recorded call

  // ---- properties; "" and 0 for an undefined node ----
  std::string name() const { return text(info().name); }          // "MulBackward0"
  std::string op() const { return text(info().op); }              // "" for the engine's own nodes
  std::string provider() const { return text(info().provider); }  // id of the plugin
  uint64_t sequence() const { return info().sequence; }           // order of recording
  int64_t saved_tensors() const { return info().saved_tensors; }  // kept for backward
  int64_t saved_bytes() const { return info().saved_bytes; }      // of their elements
  bool released() const { return info().released != 0; }          // a backward has freed it
  bool has_stash() const { return info().attribute_bytes != 0; }  // see Context::stash
  // Module::number of the innermost whose forward, or backward, recorded it; 0: none.
  uint64_t module() const { return info().module; }

  // The destination of the gradient of each input; `node` is undefined where it goes nowhere.
  struct Edge;
  inline std::vector<Edge> next_edges() const;  // in the order of inputs

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
    if (handle_ != nullptr) service::graph().node_read(handle_, &info);
    return info;
  }
  static std::vector<Tensor> list(tenon_tensor* const* tensors, int64_t count) {
    std::vector<Tensor> found(static_cast<size_t>(count));
    for (Tensor& tensor : found) tensor = Tensor::borrow(*tensors++);
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
    detail::check(service::graph().node_add_hook, handle_, kind, Run,
                  static_cast<void*>(new Kept(static_cast<Function&&>(function))),
                  &detail::destroy_hook<Kept>, &hook);
    return Hook::take(hook);
  }

  tenon_node* handle_ = nullptr;
};

struct Node::Edge {     // an input of a recorded call
  Node node;            // the call that made the input; may be undefined
  uint32_t output = 0;  // output of `node`
};

inline std::vector<Node::Edge> Node::next_edges() const {
  std::vector<Edge> edges(info().edges);
  for (uint32_t i = 0; i < edges.size(); ++i)
    edges[i].node = take(service::graph().node_edge(handle_, i, &edges[i].output));
  return edges;
}

inline Node Tensor::grad_fn() const { return Node::take(service::graph().tensor_node(handle_)); }

TENON_NAMESPACE_END
