// Services autograd and graph: gradients of tensors, the engine, forward mode, saved tensors, hooks
// and graphs.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/autograd/engine/engine.hpp"
#include "core/autograd/engine/grad.hpp"
#include "core/autograd/forward/dual.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/leak_tracking.hpp"
#include "core/autograd/hooks/hooks.hpp"
#include "core/autograd/hooks/saved_hooks.hpp"
#include "core/base/growable.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/types/modes.hpp"
#include "core/dispatch/types/type_table.hpp"
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

std::span<Tensor* const> seeds_of(tenon_tensor* const* seeds, int64_t count) {
  return seeds == nullptr ? std::span<Tensor* const>() : tensors_of(seeds, count);
}
tenon_node* handle_of(Node* node) { return reinterpret_cast<tenon_node*>(node); }
Node* node_from(tenon_node* node) { return reinterpret_cast<Node*>(node); }

tenon_status tensor_add_hook(tenon_tensor* tensor, int32_t kind, tenon_hook_function function,
                             void* state, void (*destroy)(void*), tenon_hook** hook,
                             tenon_error** error) {
  return add_hook(function, state, destroy, hook, error, [&](std::shared_ptr<HookBody> body) {
    return add_tensor_hook(checked(tensor), kind, std::move(body));
  });
}
tenon_status node_add_hook(tenon_node* node, int32_t kind, tenon_hook_function function,
                           void* state, void (*destroy)(void*), tenon_hook** hook,
                           tenon_error** error) {
  return add_hook(function, state, destroy, hook, error, [&](std::shared_ptr<HookBody> body) {
    return add_node_hook(checked(node_from(node), "the node"), kind, std::move(body));
  });
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
  full.module = node.module;
  fill_growable(full, *info);
}

constexpr tenon_autograd_service autograd_slots{
    .head = {},
    .requires_grad = [](tenon_tensor* tensor) -> int32_t {
      if (tensor == nullptr) return 0;
      node_of(tensor);
      return tensor->requires_grad() ? 1 : 0;
    },
    .set_requires_grad = slot([](tenon_tensor* tensor, int32_t requires_grad) {
      require_gradients(tensor);
      refresh_history(*tensor);
      set_requires_grad(*tensor, requires_grad != 0);
    }),
    .grad = [](tenon_tensor* tensor) -> tenon_tensor* {
      return tensor == nullptr ? nullptr : grad_of(*tensor).give();
    },
    .set_grad = slot([](tenon_tensor* tensor, tenon_tensor* grad) {
      require_gradient_memory(tensor, grad);
      set_grad(*tensor, grad);
    }),
    .is_leaf = [](const tenon_tensor* tensor) -> int32_t {
      return node_of(tensor) == nullptr ? 1 : 0;
    },
    .retain_grad = slot([](tenon_tensor* tensor) { retain_grad(checked(tensor)); }),
    .detach = slot([](tenon_tensor* tensor) { return detach(checked(tensor)); }),
    .grad_mode = [] { return thread_state.grad_enabled ? 1 : 0; },
    .grad_mode_set = [](int32_t enabled) -> int32_t {
      const bool previous = thread_state.grad_enabled;
      thread_state.grad_enabled = enabled != 0;
      return previous ? 1 : 0;
    },
    .inference_mode = [] { return thread_state.inference ? 1 : 0; },
    .inference_mode_set = [](int32_t enabled) -> int32_t {
      const bool previous = thread_state.inference;
      set_inference_mode(enabled != 0);
      return previous ? 1 : 0;
    },
    .anomaly_mode = []() -> int32_t { return thread_state.anomaly; },
    .anomaly_mode_set = [](int32_t level) -> int32_t {
      return std::exchange(thread_state.anomaly, static_cast<uint8_t>(std::clamp(level, 0, 2)));
    },
    .strict_gradients_set = [](int32_t enabled) -> int32_t {
      return std::exchange(thread_state.strict_gradients, enabled != 0) ? 1 : 0;
    },
    .backward = slot([](tenon_tensor* const* roots, tenon_tensor* const* seeds, int64_t root_count,
                        tenon_tensor* const* inputs, int64_t input_count, int32_t retain_graph,
                        int32_t create_graph) {
      const ModesOffGuard off;  // modes above autograd see calls, not the engine's own
      std::optional<std::span<Tensor* const>> chosen;
      if (input_count >= 0) chosen = tensors_of(inputs, input_count);
      run_backward(tensors_of(roots, root_count), seeds_of(seeds, root_count),
                   chosen ? &*chosen : nullptr, {retain_graph != 0, create_graph != 0});
    }),
    .gradients = slot([](tenon_tensor* const* roots, tenon_tensor* const* seeds, int64_t root_count,
                         tenon_tensor* const* inputs, int64_t input_count, int32_t retain_graph,
                         int32_t create_graph, int32_t allow_unused, tenon_tensor** results) {
      const ModesOffGuard off;
      std::vector<TensorRef> found =
          run_gradients(tensors_of(roots, root_count), seeds_of(seeds, root_count),
                        tensors_of(inputs, input_count),
                        {retain_graph != 0, create_graph != 0, create_graph == 2},
                        allow_unused == 0   ? Unused::Refused
                        : allow_unused == 1 ? Unused::Null
                                            : Unused::Zeros);
      for (size_t i = 0; i < found.size(); ++i) results[i] = found[i].give();
    }),
    .dual_level_enter = slot([] { enter_dual_level(); }),
    .dual_level_exit = slot([] { exit_dual_level(); }),
    .dual_make = slot([](tenon_tensor* primal, tenon_tensor* tangent) {
      Tensor& own = checked(primal, "the primal");
      return make_dual(own, checked(tangent, "the tangent"));
    }),
    .dual_unpack = slot([](tenon_tensor* dual, tenon_tensor** primal, tenon_tensor** tangent) {
      refresh_history(checked(dual));
      TensorRef carried(tangent_of(*dual));
      *primal = (carried ? without_tangent(*dual) : TensorRef(dual)).give();
      *tangent = carried.give();
    }),
    .saved_hooks_push = slot([](const tenon_saved_hooks* hooks) { push_saved_hooks(*hooks); }),
    .saved_hooks_disable = slot([](const char* message, int64_t length) {
      disable_saved_hooks(std::string(message, static_cast<size_t>(length)));
    }),
    .saved_hooks_pop = slot([] { pop_saved_hooks(); }),
};

constexpr tenon_graph_service graph_slots{
    .head = {},
    .tensor_node = [](tenon_tensor* tensor) -> tenon_node* {
      Node* node = node_of(tensor);
      if (node != nullptr) node->retain();
      return handle_of(node);
    },
    .tensor_node_name = [](const tenon_tensor* tensor) -> const char* {
      const Node* node = node_of(tensor);
      return node == nullptr ? nullptr : node->name();
    },
    .node_retain = [](tenon_node* node) { node_from(node)->retain(); },
    .node_release = [](tenon_node* node) -> void {
      if (node != nullptr) node_from(node)->release();
    },
    .node_read = node_read,
    .node_edge = [](tenon_node* handle, int64_t index, uint32_t* output) -> tenon_node* {
      const std::span<Edge> edges = node_from(handle)->edges();
      if (index < 0 || index >= static_cast<int64_t>(edges.size())) return nullptr;
      const Edge& edge = edges[static_cast<size_t>(index)];
      if (output != nullptr) *output = edge.output;
      return handle_of(NodeRef(edge.node).give());
    },
    .gradient_node = slot([](tenon_tensor* tensor, tenon_node** node, uint32_t* output) {
      refresh_history(checked(tensor));
      Edge edge = gradient_edge(*tensor);
      if (output != nullptr) *output = edge.output;
      *node = handle_of(edge.node.give());
    }),
    .tensor_add_hook = tensor_add_hook,
    .tensor_remove_hook =
        slot([](tenon_tensor* tensor, int64_t id) { remove_tensor_hook(checked(tensor), id); }),
    .node_add_hook = node_add_hook,
    .hook_id = [](const tenon_hook* hook) -> int64_t {
      return hook == nullptr ? 0 : hook->handle.id();
    },
    .hook_remove = [](tenon_hook* hook) -> void {
      if (hook != nullptr) hook->handle.remove();
    },
    .hook_retain = [](tenon_hook* hook) -> void {
      hook->references.fetch_add(1, std::memory_order_relaxed);
    },
    .hook_release = [](tenon_hook* hook) -> void {
      if (hook != nullptr && hook->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
        delete hook;
    },
    .backward_id = []() -> int64_t {
      return thread_state.run == nullptr ? 0 : thread_state.run->id();
    },
    .backward_reaches = [](const tenon_hook* hook) -> int32_t {
      const Node* node = hook == nullptr ? nullptr : hook->handle.node();
      const bool runs = node != nullptr && thread_state.run != nullptr;
      return runs && thread_state.run->reaches(*node) ? 1 : 0;
    },
    .tracking_set = [](int32_t enabled) -> int32_t { return track_live(enabled != 0) ? 1 : 0; },
    .running_module = []() -> uint64_t { return thread_state.module; },
};

}  // namespace

constinit const tenon_autograd_service autograd_service = autograd_slots;
constinit const tenon_graph_service graph_service = graph_slots;

}  // namespace tenon::core
