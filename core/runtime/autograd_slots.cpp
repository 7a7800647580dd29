// The host's slots on gradients: tensors, the engine, forward mode, saved tensors, hooks and graphs.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/autograd/engine/engine.hpp"
#include "core/autograd/engine/grad.hpp"
#include "core/autograd/forward/dual.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/autograd/hooks/hooks.hpp"
#include "core/autograd/hooks/saved_hooks.hpp"
#include "core/autograd/typed/typed.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/types/modes.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/runtime/add_hook.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

namespace {

// The tensor's node, after the history of a view of a changed base was updated; null on leaves and
// where the update fails.
Node* node_of(const Tensor* tensor) {
  if (tensor == nullptr) return nullptr;
  guarded(nullptr, [&] { refresh_history(*const_cast<Tensor*>(tensor)); });
  return static_cast<Node*>(tensor->node);
}

tenon_status tensor_set_requires_grad(tenon_tensor* tensor, int32_t requires_grad,
                                      tenon_error** error) {
  return guarded(error, [&] {
    require_gradients(tensor);
    refresh_history(*tensor);
    set_requires_grad(*tensor, requires_grad != 0);
  });
}
tenon_tensor* tensor_grad(tenon_tensor* tensor) {
  return tensor == nullptr ? nullptr : grad_of(*tensor).give();
}
tenon_status tensor_set_grad(tenon_tensor* tensor, tenon_tensor* grad, tenon_error** error) {
  return guarded(error, [&] {
    require_gradients(tensor);
    set_grad(*tensor, grad);
  });
}
int32_t tensor_is_leaf(const tenon_tensor* tensor) { return node_of(tensor) == nullptr ? 1 : 0; }
const char* tensor_node_name(const tenon_tensor* tensor) {
  const Node* node = node_of(tensor);
  return node == nullptr ? nullptr : node->name();
}
int32_t tensor_requires_grad(tenon_tensor* tensor) {
  if (tensor == nullptr) return 0;
  node_of(tensor);
  return tensor->requires_grad() ? 1 : 0;
}
tenon_status tensor_retain_grad(tenon_tensor* tensor, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(tensor, "the tensor");
    retain_grad(*tensor);
  });
}
tenon_status tensor_detach(tenon_tensor* tensor, tenon_tensor** result, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(tensor, "the tensor");
    *result = detach(*tensor).give();
  });
}
tenon_status saved_hooks_push(const tenon_saved_hooks* hooks, tenon_error** error) {
  return guarded(error, [&] { push_saved_hooks(*hooks); });
}
tenon_status saved_hooks_disable(const char* message, int64_t length, tenon_error** error) {
  return guarded(error,
                 [&] { disable_saved_hooks(std::string(message, static_cast<size_t>(length))); });
}
tenon_status saved_hooks_pop(tenon_error** error) {
  return guarded(error, [] { pop_saved_hooks(); });
}
int32_t strict_gradients_set(int32_t enabled) {
  return std::exchange(thread_state.strict_gradients, enabled != 0) ? 1 : 0;
}
int32_t grad_mode_set(int32_t enabled) {
  const bool previous = thread_state.grad_enabled;
  thread_state.grad_enabled = enabled != 0;
  return previous ? 1 : 0;
}
int32_t grad_mode() { return thread_state.grad_enabled ? 1 : 0; }

std::span<Tensor* const> seeds_of(tenon_tensor* const* seeds, int64_t count) {
  return seeds == nullptr ? std::span<Tensor* const>() : tensors_of(seeds, count);
}
tenon_status backward(tenon_tensor* const* roots, tenon_tensor* const* seeds, int64_t root_count,
                      tenon_tensor* const* inputs, int64_t input_count, int32_t retain_graph,
                      int32_t create_graph, tenon_error** error) {
  return guarded(error, [&] {
    const ModesOffGuard off;  // modes above autograd see calls, not the engine's own
    std::optional<std::span<Tensor* const>> chosen;
    if (input_count >= 0) chosen = tensors_of(inputs, input_count);
    run_backward(tensors_of(roots, root_count), seeds_of(seeds, root_count),
                 chosen ? &*chosen : nullptr, {retain_graph != 0, create_graph != 0});
  });
}
tenon_status gradients(tenon_tensor* const* roots, tenon_tensor* const* seeds, int64_t root_count,
                       tenon_tensor* const* inputs, int64_t input_count, int32_t retain_graph,
                       int32_t create_graph, int32_t allow_unused, tenon_tensor** results,
                       tenon_error** error) {
  return guarded(error, [&] {
    const ModesOffGuard off;
    std::vector<TensorRef> found =
        run_gradients(tensors_of(roots, root_count), seeds_of(seeds, root_count),
                      tensors_of(inputs, input_count), {retain_graph != 0, create_graph != 0},
                      allow_unused == 0   ? Unused::Refused
                      : allow_unused == 1 ? Unused::Null
                                          : Unused::Zeros);
    for (size_t i = 0; i < found.size(); ++i) results[i] = found[i].give();
  });
}
tenon_status dual_level_enter(tenon_error** error) {
  return guarded(error, [] { enter_dual_level(); });
}
tenon_status dual_level_exit(tenon_error** error) {
  return guarded(error, [] { exit_dual_level(); });
}
tenon_status dual_make(tenon_tensor* primal, tenon_tensor* tangent, tenon_tensor** result,
                       tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(primal, "the primal");
    require_not_null(tangent, "the tangent");
    *result = make_dual(*primal, *tangent).give();
  });
}
tenon_status dual_unpack(tenon_tensor* dual, tenon_tensor** primal, tenon_tensor** tangent,
                         tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(dual, "the tensor");
    refresh_history(*dual);
    TensorRef carried(tangent_of(*dual));
    *primal = (carried ? without_tangent(*dual) : TensorRef(dual)).give();
    *tangent = carried.give();
  });
}

tenon_node* handle_of(Node* node) { return reinterpret_cast<tenon_node*>(node); }
Node* node_from(tenon_node* node) { return reinterpret_cast<Node*>(node); }

tenon_status tensor_add_hook(tenon_tensor* tensor, int32_t kind, tenon_hook_function function,
                             void* state, void (*destroy)(void*), tenon_hook** hook,
                             tenon_error** error) {
  return add_hook(function, state, destroy, hook, error, [&](std::shared_ptr<HookBody> body) {
    require_not_null(tensor, "the tensor");
    return add_tensor_hook(*tensor, kind, std::move(body));
  });
}
tenon_status tensor_remove_hook(tenon_tensor* tensor, int64_t id, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(tensor, "the tensor");
    remove_tensor_hook(*tensor, id);
  });
}
tenon_status node_add_hook(tenon_node* node, int32_t kind, tenon_hook_function function,
                           void* state, void (*destroy)(void*), tenon_hook** hook,
                           tenon_error** error) {
  return add_hook(function, state, destroy, hook, error, [&](std::shared_ptr<HookBody> body) {
    require_not_null(node, "the node");
    return add_node_hook(*node_from(node), kind, std::move(body));
  });
}
int64_t hook_id(const tenon_hook* hook) { return hook == nullptr ? 0 : hook->handle.id(); }
void hook_remove(tenon_hook* hook) {
  if (hook != nullptr) hook->handle.remove();
}
void hook_retain(tenon_hook* hook) { hook->references.fetch_add(1, std::memory_order_relaxed); }
void hook_release(tenon_hook* hook) {
  if (hook != nullptr && hook->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete hook;
}
int64_t backward_id() { return thread_state.run == nullptr ? 0 : thread_state.run->id(); }
int32_t backward_reaches(const tenon_hook* hook) {
  const Node* node = hook == nullptr ? nullptr : hook->handle.node();
  return node != nullptr && thread_state.run != nullptr && thread_state.run->reaches(*node) ? 1 : 0;
}

tenon_node* tensor_node(tenon_tensor* tensor) {
  Node* node = node_of(tensor);
  if (node != nullptr) node->retain();
  return handle_of(node);
}
void node_retain(tenon_node* node) { node_from(node)->retain(); }
void node_release(tenon_node* node) {
  if (node != nullptr) node_from(node)->release();
}
void node_read(tenon_node* handle, tenon_node_info* info) {
  Node& node = *node_from(handle);
  const NodeReport report = node.report();
  const Implementation* implementation = node.implementation();
  tenon_node_info full{};
  full.edges = static_cast<uint32_t>(node.edges().size());
  full.outputs = static_cast<uint32_t>(node.outputs().size());
  full.saved_tensors = report.saved_tensors;
  full.saved_bytes = report.saved_bytes;
  full.sequence = node.sequence();
  full.name = node.name();
  full.op = implementation == nullptr ? nullptr : implementation->schema.name.c_str();
  full.provider = implementation == nullptr ? nullptr : implementation->provider.c_str();
  full.released = node.released() ? 1 : 0;
  full.stashed_tensors = report.stashed_tensors;
  full.attribute_bytes = report.attribute_bytes;
  full.size = std::min<uint32_t>(info->size, sizeof full);
  std::memcpy(info, &full, full.size);
}
tenon_node* node_edge(tenon_node* handle, int64_t index, uint32_t* output) {
  const std::span<Edge> edges = node_from(handle)->edges();
  if (index < 0 || index >= static_cast<int64_t>(edges.size())) return nullptr;
  const Edge& edge = edges[static_cast<size_t>(index)];
  if (output != nullptr) *output = edge.output;
  return handle_of(NodeRef(edge.node).give());
}
tenon_status gradient_node(tenon_tensor* tensor, tenon_node** node, uint32_t* output,
                           tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(tensor, "the tensor");
    refresh_history(*tensor);
    Edge edge = gradient_edge(*tensor);
    if (output != nullptr) *output = edge.output;
    *node = handle_of(edge.node.give());
  });
}

}  // namespace

void add_autograd_slots(Services& services) {
  services.autograd.set_requires_grad = tensor_set_requires_grad;
  services.autograd.grad = tensor_grad;
  services.autograd.set_grad = tensor_set_grad;
  services.autograd.is_leaf = tensor_is_leaf;
  services.graph.tensor_node_name = tensor_node_name;
  services.autograd.retain_grad = tensor_retain_grad;
  services.autograd.detach = tensor_detach;
  services.autograd.grad_mode_set = grad_mode_set;
  services.autograd.grad_mode = grad_mode;
  services.autograd.backward = backward;
  services.autograd.gradients = gradients;
  services.autograd.dual_level_enter = dual_level_enter;
  services.autograd.dual_level_exit = dual_level_exit;
  services.autograd.dual_make = dual_make;
  services.autograd.dual_unpack = dual_unpack;
  services.graph.tensor_add_hook = tensor_add_hook;
  services.graph.tensor_remove_hook = tensor_remove_hook;
  services.graph.node_add_hook = node_add_hook;
  services.graph.hook_id = hook_id;
  services.graph.hook_remove = hook_remove;
  services.graph.hook_retain = hook_retain;
  services.graph.hook_release = hook_release;
  services.graph.backward_id = backward_id;
  services.graph.backward_reaches = backward_reaches;
  services.autograd.requires_grad = tensor_requires_grad;
  services.graph.tensor_node = tensor_node;
  services.graph.node_retain = node_retain;
  services.graph.node_release = node_release;
  services.graph.node_read = node_read;
  services.graph.node_edge = node_edge;
  services.graph.gradient_node = gradient_node;
  services.autograd.saved_hooks_push = saved_hooks_push;
  services.autograd.saved_hooks_disable = saved_hooks_disable;
  services.autograd.saved_hooks_pop = saved_hooks_pop;
  services.autograd.strict_gradients_set = strict_gradients_set;
}

}  // namespace tenon::core
