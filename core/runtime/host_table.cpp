// The host's slots over the core: each turns handles into objects and exceptions into statuses.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/autograd/dual.hpp"
#include "core/autograd/engine.hpp"
#include "core/autograd/grad.hpp"
#include "core/autograd/graph.hpp"
#include "core/autograd/history.hpp"
#include "core/autograd/hooks.hpp"
#include "core/autograd/leak_tracking.hpp"
#include "core/autograd/saved_hooks.hpp"
#include "core/autograd/typed.hpp"
#include "core/base/allocator.hpp"
#include "core/base/atomic_file.hpp"
#include "core/base/error.hpp"
#include "core/base/generator.hpp"
#include "core/base/log.hpp"
#include "core/base/parallel.hpp"
#include "core/dispatch/call.hpp"
#include "core/dispatch/chain.hpp"
#include "core/dispatch/components.hpp"
#include "core/dispatch/context.hpp"
#include "core/dispatch/conversion.hpp"
#include "core/dispatch/elementwise.hpp"
#include "core/dispatch/modes.hpp"
#include "core/dispatch/payload.hpp"
#include "core/dispatch/registry.hpp"
#include "core/dispatch/thread_state.hpp"
#include "core/dispatch/trace.hpp"
#include "core/dispatch/types.hpp"
#include "core/dispatch/value.hpp"
#include "core/nn/module.hpp"
#include "core/plugin/config.hpp"
#include "core/runtime/context_slots.hpp"
#include "core/runtime/explain.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/value_text.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/file.hpp"
#include "core/tensor/shape.hpp"
#include "tenon/abi/host.h"

namespace tenon::core {

namespace {

Shape shape_of(const int64_t* values, int64_t rank) {
  if (rank < 0 || rank > TENON_MAX_RANK) {
    throw Error(TENON_ERROR_VALUE, "a tensor has 0 to {} dimensions, not {}", TENON_MAX_RANK, rank);
  }
  return {values, static_cast<size_t>(rank)};
}

template <class T>
void require_not_null(const T* pointer, const char* what) {
  if (pointer == nullptr) throw Error(TENON_ERROR_ARGUMENT, "{} is null", what);
}

// An object of a type that does not derive from Tensor has a shape and a dtype only.
void require_data(const Tensor* tensor, const char* what) {
  require_not_null(tensor, what);
  if (!tensor->has_flag(TENON_TENSOR_SHAPE_ONLY)) return;
  if (!tensor->typed()) throw Error(TENON_ERROR_TYPE, "{} has a shape but no data", what);
  throw Error(TENON_ERROR_TYPE, "{} must be Tensor, not {}, which has no data; convert it first",
              what, TypeTable::process().at(tensor->view.type).name);
}

// Only tensors with data, or types convertible to one, can require grad.
void require_gradients(const Tensor* tensor) {
  require_not_null(tensor, "the tensor");
  if (!tensor->typed() || !tensor->has_flag(TENON_TENSOR_SHAPE_ONLY)) return;
  const TensorType& type = TypeTable::process().at(tensor->view.type);
  if (type.has_gradients()) return;
  throw Error(TENON_ERROR_TYPE,
              "a tensor that requires grad must be Tensor, not {}, which has neither a conversion "
              "to Tensor nor a project_gradient",
              type.name);
}

// The place of a parameter; IndexError when there is none of the name.
int64_t parameter_place(const Schema& schema, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : schema.parameters) {
    if (parameter.name == name) return static_cast<int64_t>(names.size());
    names.push_back(parameter.name);
  }
  throw Error(TENON_ERROR_INDEX, "'{}' has no parameter {}{}", schema.name, quote(name),
              suggestion(name, names));
}

std::span<Tensor* const> tensors_of(tenon_tensor* const* tensors, int64_t count) {
  if (count < 0) throw Error(TENON_ERROR_ARGUMENT, "a list has a negative length");
  return {tensors, static_cast<size_t>(count)};
}

// ---- errors ----

tenon_status error_set(tenon_error** slot, tenon_status kind, const char* message, int64_t length) {
  if (kind <= TENON_OK || kind >= TENON_ERROR_KIND_END) kind = TENON_ERROR_RUNTIME;
  return guarded(slot,
                 [&] { throw Error(kind, std::string(message, static_cast<size_t>(length))); });
}
tenon_status error_kind(const tenon_error* error) {
  return error == nullptr ? TENON_OK : error->error.kind;
}
const char* error_message(const tenon_error* error) {
  return error == nullptr ? "" : error->error.message.c_str();
}
const char* error_op(const tenon_error* error) {
  return error == nullptr ? "" : error->error.op.c_str();
}
const char* error_provider(const tenon_error* error) {
  return error == nullptr ? "" : error->error.provider.c_str();
}
const tenon_error* error_cause(const tenon_error* error) {
  return error == nullptr ? nullptr : error->error.cause.get();
}
void error_release(tenon_error* error) {
  if (error != nullptr && !error->preallocated) delete error;
}
void error_pass(tenon_error** slot, const tenon_error* error) {
  if (error == nullptr) return;
  guarded(slot, [&] { throw Error(error->error); });
}

// ---- memory and values ----

void* allocate_slot(int64_t bytes) {
  try {
    return allocate(bytes);
  } catch (...) {
    return nullptr;
  }
}
void free_memory(void* memory, int64_t bytes) {
  if (memory != nullptr) release(memory, bytes);
}
void value_release(tenon_value* value) { release_value(*value); }
tenon_status string_create(const char* data, int64_t length, tenon_value* result,
                           tenon_error** error) {
  return guarded(error, [&] { *result = make_string({data, static_cast<size_t>(length)}); });
}
void memory_release_cached(int64_t keep_limit) { release_cached(keep_limit); }

// ---- tensors ----

tenon_status tensor_empty(tenon_dtype dtype, int64_t rank, const int64_t* shape,
                          tenon_tensor** result, tenon_error** error) {
  return guarded(error, [&] { *result = make_empty(dtype, shape_of(shape, rank)).give(); });
}
tenon_status tensor_wrap(tenon_dtype dtype, int64_t rank, const int64_t* shape,
                         const int64_t* strides, void* data, void* owner,
                         void (*release_owner)(void*), tenon_tensor** result, tenon_error** error) {
  return guarded(error, [&] {
    *result = make_wrapped(dtype, shape_of(shape, rank), shape_of(strides, rank), data, owner,
                           release_owner)
                  .give();
  });
}
tenon_status tensor_alias(tenon_tensor* base, int64_t rank, const int64_t* shape,
                          const int64_t* strides, int64_t offset, tenon_tensor** result,
                          tenon_error** error) {
  return guarded(error, [&] {
    require_data(base, "the tensor to view");
    *result = make_alias(*base, shape_of(shape, rank), shape_of(strides, rank), offset).give();
  });
}
void tensor_retain(tenon_tensor* tensor) { tensor->retain(); }
void tensor_release(tenon_tensor* tensor) {
  if (tensor != nullptr) tensor->release();
}
int64_t tensor_use_count(const tenon_tensor* tensor) {
  return tensor->references.load(std::memory_order_relaxed);
}
int64_t tensor_version(const tenon_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->version();
}
int32_t tensor_shares_storage(const tenon_tensor* a, const tenon_tensor* b) {
  return a->storage != nullptr && a->storage == b->storage ? 1 : 0;
}
// A kernel that fills a new result changes nothing that was visible before: its version stays 0.
void undo_version_bump(tenon_tensor& tensor) {
  if (tensor.references.load(std::memory_order_acquire) == 1 && tensor.storage != nullptr &&
      tensor.storage->references.load(std::memory_order_acquire) == 1) {
    tensor.storage->version.fetch_sub(1, std::memory_order_relaxed);
  }
}
tenon_status tensor_copy(tenon_tensor* destination, const tenon_tensor* source,
                         tenon_error** error) {
  return guarded(error, [&] {
    require_data(destination, "the destination of a copy");
    require_data(source, "the source of a copy");
    copy(*destination, *source);
    undo_version_bump(*destination);
  });
}
tenon_status tensor_fill(tenon_tensor* destination, const tenon_value* number,
                         tenon_error** error) {
  return guarded(error, [&] {
    require_data(destination, "the tensor to fill");
    fill(*destination, *number);
    undo_version_bump(*destination);
  });
}
tenon_status tensor_item(const tenon_tensor* tensor, tenon_value* result, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(tensor, "the tensor");
    if (!tensor->typed()) {
      require_data(tensor, "the tensor");
      *result = item(*tensor);
      return;
    }
    const GradModeGuard reading(false);
    const TensorRef plain = to_plain(*const_cast<Tensor*>(tensor));
    *result = item(*plain);
  });
}
// The tensor's node, after the history of a view of a changed base was updated; null on leaves and
// where the update fails.
Node* node_of(const Tensor* tensor) {
  if (tensor == nullptr) return nullptr;
  guarded(nullptr, [&] { refresh_history(*const_cast<Tensor*>(tensor)); });
  return static_cast<Node*>(tensor->node);
}
const char* node_name_of(const Tensor* tensor) {
  const Node* node = node_of(tensor);
  return node == nullptr ? nullptr : node->name();
}
tenon_status tensor_text_slot(const tenon_tensor* tensor, tenon_value* result,
                              tenon_error** error) {
  return guarded(error, [&] { *result = make_string(typed_text(tensor)); });
}
tenon_status broadcast_shapes_slot(const tenon_tensor* const* tensors, int64_t count,
                                   int64_t* shape, int64_t* rank, tenon_error** error) {
  return guarded(error, [&] {
    Sizes common{};
    for (int64_t i = 0; i < count; ++i) common = broadcast_shapes(common, tensors[i]->shape());
    std::memcpy(shape, common.values, static_cast<size_t>(common.rank) * sizeof(int64_t));
    *rank = common.rank;
  });
}
tenon_dtype promote_dtypes_slot(tenon_dtype a, tenon_dtype b) { return promote_dtypes(a, b); }

// ---- autograd ----

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
const char* tensor_node_name(const tenon_tensor* tensor) { return node_name_of(tensor); }
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
    const ModesOffGuard off;  // those above autograd see calls, not what the engine makes of them
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

// ---- hooks ----

tenon_node* handle_of(Node* node) { return reinterpret_cast<tenon_node*>(node); }
Node* node_from(tenon_node* node) { return reinterpret_cast<Node*>(node); }

tenon_hook* new_handle(const HookHandle& handle) { return new tenon_hook{1, handle}; }

// Takes the state, whatever happens.
template <class Register>
tenon_status add_hook(tenon_hook_function function, void* state, void (*destroy)(void*),
                      tenon_hook** hook, tenon_error** error, Register&& hang) {
  std::shared_ptr<HookBody> body;
  const tenon_status status = guarded(error, [&] {
    struct Give {
      void* state;
      void (*destroy)(void*);
      ~Give() {
        if (destroy != nullptr) destroy(state);
      }
    } give{state, destroy};
    body = std::make_shared<HookBody>(function, state, destroy);
    give.destroy = nullptr;
  });
  if (status != TENON_OK) return status;
  return guarded(error, [&] {
    if (function == nullptr) throw Error(TENON_ERROR_ARGUMENT, "the hook's function is null");
    const HookHandle handle = hang(std::move(body));
    if (hook != nullptr) *hook = new_handle(handle);
  });
}
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

// ---- nodes and graphs ----

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
  full.stashed = report.attribute_bytes > 0 ? 1 : 0;
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
tenon_status graph_describe(tenon_tensor* const* roots, int64_t count, tenon_json** document,
                            tenon_error** error) {
  return guarded(error, [&] { *document = describe_graph(tensors_of(roots, count)).give(); });
}

// ---- modes ----

int32_t inference_mode_set(int32_t enabled) {
  const bool previous = thread_state.inference;
  set_inference_mode(enabled != 0);
  return previous ? 1 : 0;
}
int32_t inference_mode() { return thread_state.inference ? 1 : 0; }
int32_t anomaly_mode_set(int32_t level) {
  const uint8_t previous = thread_state.anomaly;
  thread_state.anomaly = static_cast<uint8_t>(std::clamp(level, 0, 2));
  return previous;
}
int32_t anomaly_mode() { return thread_state.anomaly; }
int32_t live_tracking_set(int32_t enabled) { return track_live(enabled != 0) ? 1 : 0; }

// ---- ops ----

tenon_status op_find(const char* name, int64_t length, const tenon_op** op, tenon_error** error) {
  return guarded(error, [&] {
    plugin_manager();
    *op = Registry::process().require({name, static_cast<size_t>(length)});
  });
}
const char* op_name(const tenon_op* op) { return op->name.c_str(); }
tenon_status op_bind_attributes(const tenon_op* op, const tenon_string* keywords,
                                const tenon_value* keyword_values, int64_t keyword_count,
                                int64_t* positional, tenon_value* names, tenon_value* values,
                                tenon_error** error) {
  return guarded(error, [&] {
    const Schema& schema = require_implementation(op).schema;
    Schema attributes;
    attributes.name = schema.name;
    std::vector<std::string> texts;
    for (const Parameter& parameter : schema.parameters) {
      if (!parameter.keyword_only) continue;
      attributes.parameters.push_back(parameter);
      texts.push_back(parameter.name);
    }
    BoundArguments bound;
    bind_arguments(attributes, {}, {keywords, static_cast<size_t>(keyword_count)},
                   {keyword_values, static_cast<size_t>(keyword_count)}, bound);
    *positional = schema.positional_count;
    std::vector<tenon_value> given;
    try {
      for (size_t i = 0; i < texts.size(); ++i) given.push_back(copy_value(bound.values[i]));
      *names = make_string_list(texts);
    } catch (...) {
      for (tenon_value& value : given) release_value(value);
      throw;
    }
    std::copy(given.begin(), given.end(), values);
  });
}
tenon_status op_bind(const tenon_op* op, const tenon_value* arguments, int64_t count,
                     const tenon_string* keywords, const tenon_value* keyword_values,
                     int64_t keyword_count, tenon_error** error) {
  return guarded(error, [&] {
    const Implementation& implementation = require_implementation(op);
    BoundArguments bound;
    const std::span<const tenon_value> values(arguments, static_cast<size_t>(count));
    if (keyword_count == 0) {
      const OrderedArguments ordered(implementation, values);
      bind_call(implementation, ordered.positional, ordered.keywords, ordered.keyword_values,
                bound);
    } else {
      bind_call(implementation, values, {keywords, static_cast<size_t>(keyword_count)},
                {keyword_values, static_cast<size_t>(keyword_count)}, bound);
    }
  });
}
tenon_status op_explain(const tenon_op* op, const tenon_value* arguments, int64_t count,
                        const tenon_string* keywords, const tenon_value* keyword_values,
                        int64_t keyword_count, tenon_json** document, tenon_error** error) {
  return guarded(error, [&] {
    plugin_manager();
    *document = explain_call(op, {arguments, static_cast<size_t>(count)},
                             {keywords, static_cast<size_t>(keyword_count)},
                             {keyword_values, static_cast<size_t>(keyword_count)})
                    .give();
  });
}
tenon_status op_call_keywords(const tenon_op* op, const tenon_value* arguments, int64_t count,
                              const tenon_string* keywords, const tenon_value* keyword_values,
                              int64_t keyword_count, tenon_value* results, tenon_error** error) {
  return call_op_keywords(op, {arguments, static_cast<size_t>(count)},
                          {keywords, static_cast<size_t>(keyword_count)},
                          {keyword_values, static_cast<size_t>(keyword_count)}, results, error);
}
int64_t op_result_count(const tenon_op* op) {
  const Implementation* implementation = op->implementation.load(std::memory_order_acquire);
  return implementation == nullptr ? 0 : implementation->result_count;
}
int32_t op_returns_tuple(const tenon_op* op) {
  const Implementation* implementation = op->implementation.load(std::memory_order_acquire);
  return implementation != nullptr && implementation->schema.returns_tuple ? 1 : 0;
}

tenon_status op_parameter(const tenon_op* op, const char* name, int64_t length, int64_t* index,
                          tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(op, "the op");
    const Implementation* implementation = op->implementation.load(std::memory_order_acquire);
    require_not_null(implementation, "the implementation of the op");
    *index = parameter_place(implementation->schema, {name, static_cast<size_t>(length)});
  });
}

// ---- threads, randomness, log ----

tenon_status parallel_for_slot(int64_t begin, int64_t end, int64_t grain,
                               tenon_status (*body)(void*, int64_t, int64_t, tenon_error**),
                               void* state, tenon_error** error) {
  return guarded(error, [&] {
    // Chunks see the caller's modes, wherever they run.
    const ThreadState caller = thread_state;
    parallel_for(begin, end, grain, [&](int64_t from, int64_t to) {
      const ThreadStateGuard guard(caller);
      tenon_error* chunk_error = nullptr;
      const tenon_status status = body(state, from, to, &chunk_error);
      if (status != TENON_OK) throw_status(status, chunk_error);
    });
  });
}
int32_t thread_count_slot() { return thread_count(); }
void thread_count_set(int32_t count) { set_thread_count(count); }
void generator_reserve(int64_t count, uint64_t* seed, uint64_t* offset) {
  const DrawRange range = reserve_draws(count);
  *seed = range.seed;
  *offset = range.offset;
}
void generator_seed(uint64_t seed) { seed_generator(seed); }
void log_slot(int32_t level, const char* source, const char* message, int64_t length) {
  log(static_cast<LogLevel>(level < 0   ? 0
                            : level > 4 ? 4
                                        : level),
      source == nullptr ? "" : source, {message, static_cast<size_t>(length)});
}

// ---- JSON documents ----

tenon_status json_parse(const char* text, int64_t length, tenon_json** document,
                        tenon_error** error) {
  return guarded(error, [&] {
    *document = parse_json({text, static_cast<size_t>(length)}).give();
  });
}
tenon_status json_dump(const tenon_json* document, int32_t indent, tenon_value* text,
                       tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(document, "the document");
    *text = make_string(dump(*document, indent));
  });
}
void json_retain(tenon_json* document) { document->retain(); }
void json_release(tenon_json* document) {
  if (document != nullptr) document->release();
}
tenon_value json_value(const tenon_json* document) { return document->value(); }
int32_t json_is_object(const tenon_json* document) { return document->is_object() ? 1 : 0; }
int64_t json_size(const tenon_json* document) { return document->size(); }
const tenon_json* json_at(const tenon_json* document, int64_t index) { return document->at(index); }
const tenon_json* json_find(const tenon_json* document, const char* key, int64_t length) {
  return document->find({key, static_cast<size_t>(length)});
}
tenon_string json_key(const tenon_json* document, int64_t index) {
  const tenon_json* child = document->at(index);
  const std::string_view key = child == nullptr ? std::string_view() : child->key();
  return {key.data(), static_cast<int64_t>(key.size())};
}

tenon_status json_place(const tenon_json* document, tenon_value* text, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(document, "the document");
    *text = make_string(place_of(*document));
  });
}
tenon_status json_create(const tenon_string* keys, const tenon_value* values, int64_t count,
                         tenon_json** document, tenon_error** error) {
  return guarded(error, [&] {
    const auto of = [&](auto* list) { return std::span(list, static_cast<size_t>(count)); };
    *document =
        (keys == nullptr ? make_array(of(values)) : make_object(of(keys), of(values))).give();
  });
}

// ---- words in messages ----

tenon_status text_suggestion(const char* word, int64_t length, const tenon_string* candidates,
                             int64_t count, tenon_value* text, tenon_error** error) {
  return guarded(error, [&] {
    Words words;
    for (int64_t i = 0; i < count; ++i)
      words.emplace_back(candidates[i].data, static_cast<size_t>(candidates[i].length));
    *text = make_string(suggestion({word, static_cast<size_t>(length)}, words));
  });
}
tenon_status text_printable(const char* bytes, int64_t length, tenon_value* text,
                            tenon_error** error) {
  return guarded(error, [&] {
    *text = make_string(printable({bytes, static_cast<size_t>(length)}));
  });
}

// ---- listings and configuration ----

tenon_status describe_slot(const char* what, const char* name, tenon_json** document,
                           tenon_error** error) {
  return guarded(error, [&] { *document = describe(what, name == nullptr ? "" : name).give(); });
}
tenon_status op_signature(const char* name, tenon_value* text, tenon_error** error) {
  return guarded(error, [&] { *text = make_string(describe_signature(name)); });
}
tenon_status plugin_path_add(const char* folder, tenon_error** error) {
  return guarded(error, [&] { plugin_manager().add_search_path(folder); });
}
tenon_status plugin_load(const char* id_or_path, tenon_error** error) {
  return guarded(error, [&] { plugin_manager().load(id_or_path); });
}
tenon_status config_read(const char* path, tenon_json** config, tenon_error** error) {
  return guarded(error, [&] { *config = read_config(path).give(); });
}
tenon_status config_apply(const tenon_json* config, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(config, "the config");
    apply_config(*config);
  });
}
tenon_status config_apply_lazily(const tenon_json* config, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(config, "the config");
    apply_config_lazily(*config);
  });
}

// ---- modules ----

tenon_status module_create(const char* type, const tenon_value* attributes, int64_t count,
                           const tenon_string* keywords, const tenon_value* keyword_values,
                           int64_t keyword_count, tenon_module** module, tenon_error** error) {
  return guarded(error, [&] {
    plugin_manager();
    *module = create_module(ModuleTable::process().require(type),
                            {attributes, static_cast<size_t>(count)},
                            {keywords, static_cast<size_t>(keyword_count)},
                            {keyword_values, static_cast<size_t>(keyword_count)})
                  .give();
  });
}
tenon_status module_create_json(const tenon_json* document, tenon_module** module,
                                tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(document, "the module's description");
    plugin_manager();
    *module = create_module(*document).give();
  });
}
void module_retain(tenon_module* module) { module->retain(); }
void module_release(tenon_module* module) {
  if (module != nullptr) module->release();
}
const char* module_type(const tenon_module* module) { return module->type->schema.name.c_str(); }
const tenon_value* module_attributes(const tenon_module* module) {
  return module->attributes.data();
}
tenon_status module_attribute(const tenon_module* module, const char* name, int64_t length,
                              const tenon_value** value, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    const int64_t place =
        parameter_place(module->type->schema, {name, static_cast<size_t>(length)});
    *value = module->attributes.data() + place;
  });
}
tenon_status module_register_parameter(tenon_module* module, const char* name, tenon_tensor* tensor,
                                       tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    register_parameter(*module, name, tensor);
  });
}
tenon_status module_register_buffer(tenon_module* module, const char* name, tenon_tensor* tensor,
                                    int32_t persistent, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    register_buffer(*module, name, tensor, persistent != 0);
  });
}
tenon_status module_register_child(tenon_module* module, const char* name, tenon_module* child,
                                   tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    register_child(*module, name, child);
  });
}
tenon_status module_tensor(tenon_module* module, const char* name, tenon_tensor** tensor,
                           tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    *tensor = find_tensor(*module, name);
  });
}
tenon_status module_child(tenon_module* module, const char* name, tenon_module** child,
                          tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    *child = find_child(*module, name);
  });
}
tenon_status module_call(tenon_module* module, const tenon_value* inputs, int64_t count,
                         tenon_value* result, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    call_module(*module, {inputs, static_cast<size_t>(count)}, *result);
  });
}
int32_t module_training(const tenon_module* module) { return module->training ? 1 : 0; }
void module_train(tenon_module* module, int32_t training) { set_training(*module, training != 0); }
void list_children(const tenon_module& module, int64_t* count, tenon_value* items) {
  int64_t present = 0;
  for (const tenon_module::Child& child : module.children)
    present += child.module != nullptr ? 1 : 0;
  auto** modules = static_cast<tenon_module**>(allocate(present == 0 ? 1 : present * 8));
  tenon_module** next = modules;
  for (const tenon_module::Child& child : module.children) {
    if (child.module == nullptr) continue;
    child.module->retain();
    *next++ = child.module;
  }
  *count = present;
  *items = tenon_value{};
  items->tag = TENON_VALUE_MODULE_LIST;
  items->length = static_cast<uint32_t>(present);
  items->as.modules = modules;
}
tenon_status module_walk(tenon_module* module, int32_t what, int32_t recurse, int64_t* count,
                         tenon_value* names, tenon_value* items, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    const bool duplicates = (what & TENON_WALK_DUPLICATES) != 0;
    what &= ~TENON_WALK_DUPLICATES;
    if (what < 0 || what > 3)
      throw Error(TENON_ERROR_ARGUMENT,
                  "walks are of parameters, buffers, children or modules (0 to 3), not {}", what);
    // Containers ask for it at each call.
    if (names == nullptr && what == 2 && recurse == 0 && duplicates) {
      list_children(*module, count, items);
      return;
    }
    const std::vector<WalkItem> found =
        walk(*module, static_cast<Walk>(what),
             {.recurse = recurse != 0, .names = names != nullptr, .duplicates = duplicates});
    std::vector<std::string> texts;
    std::vector<TensorRef> tensors;
    for (const WalkItem& item : found) {
      texts.push_back(item.name);
      if (item.tensor != nullptr) tensors.emplace_back(item.tensor);
    }
    if (names != nullptr) *names = make_string_list(texts);
    *count = static_cast<int64_t>(found.size());
    if (what <= 1) {
      *items = make_tensor_list(std::move(tensors));
      return;
    }
    auto** modules = static_cast<tenon_module**>(allocate(found.empty() ? 1 : *count * 8));
    for (size_t i = 0; i < found.size(); ++i) {
      found[i].module->retain();
      modules[i] = found[i].module;
    }
    *items = tenon_value{};
    items->tag = TENON_VALUE_MODULE_LIST;
    items->length = static_cast<uint32_t>(found.size());
    items->as.modules = modules;
  });
}
tenon_status module_to(tenon_module* module, tenon_dtype dtype, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    convert(*module, dtype);
  });
}
tenon_status module_text_slot(tenon_module* module, tenon_value* text, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    *text = make_string(module_text(*module));
  });
}
tenon_status module_save(tenon_module* module, const char* path, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    save_module(*module, path);
  });
}
tenon_status module_load(tenon_module* module, const char* path, int32_t strict,
                         tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    load_module(*module, path, strict != 0);
  });
}

// ---- tensor files ----

tenon_status tensors_save(const char* path, const tenon_string* names, tenon_tensor* const* tensors,
                          int64_t count, tenon_error** error) {
  return guarded(error, [&] {
    StoredTensors list;
    for (int64_t i = 0; i < count; ++i) {
      require_not_null(tensors[i], "a tensor to save");
      list.add_whole(std::string(names[i].data, static_cast<size_t>(names[i].length)),
                     TensorRef(tensors[i]));
    }
    save_tensors(path, list.tensors, list.metadata);
  });
}
tenon_status tensors_load(const char* path, tenon_value* names, tenon_value* tensors,
                          tenon_error** error) {
  return guarded(error, [&] {
    TensorFile file = load_tensors(path);
    plugin_manager();
    restore_types(file);
    std::vector<std::string> texts;
    std::vector<TensorRef> list;
    for (NamedTensor& entry : file.tensors) {
      texts.push_back(entry.name);
      list.push_back(std::move(entry.tensor));
    }
    *names = make_string_list(texts);
    *tensors = make_tensor_list(std::move(list));
  });
}
tenon_status file_write(const char* path, const char* data, int64_t length, tenon_error** error) {
  return guarded(error, [&] { write_file(path, {data, static_cast<size_t>(length)}); });
}

// ---- tensor types ----

tenon_status type_find(const char* name, uint32_t* type, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(name, "the name of the type");
    plugin_manager();
    *type = TypeTable::process().require(name).id;
  });
}
tenon_status type_find_layout(const char* name, const tenon_payload_layout* layout, uint32_t* type,
                              tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(name, "the name of the type");
    require_not_null(layout, "the layout of the type");
    plugin_manager();
    const TensorType& found = TypeTable::process().require(name);
    TypeTable::process().check_layout(found, *layout);
    *type = found.id;
  });
}
const char* type_name(uint32_t type) {
  try {
    return TypeTable::process().checked(type).name.c_str();
  } catch (...) {
    return "";
  }
}
int32_t type_is(uint32_t type, uint32_t ancestor) {
  const TypeTable& table = TypeTable::process();
  if (!table.known(type) || !table.known(ancestor)) return 0;
  return table.at(type).is(table.at(ancestor)) ? 1 : 0;
}
// Without a payload argument, share the tensor's payload or create a default one.
PayloadRef inherited_payload(const TensorType& type, const Tensor& tensor) {
  Payload* present = tensor.payload();
  if (present != nullptr && present->owner == type.payload_owner->id) {
    present->retain();
    return PayloadRef(present);
  }
  PayloadRef made = new_payload(*type.payload_owner, {});
  if (made != nullptr) return made;
  throw Error(TENON_ERROR_TYPE,
              "{} has the payload of {}, which cannot be made from nothing; derive from it and "
              "give its members",
              type.name, type.payload_owner->name);
}

void give_typed(const TensorType& type, TensorRef tensor, void** payload, tenon_tensor** result) {
  const TensorType* owner = type.payload_owner;
  PayloadRef made;
  if (owner != nullptr && payload == nullptr) made = inherited_payload(type, *tensor);
  if (owner != nullptr && payload != nullptr)
    made.reset(make_payload(owner->id, owner->descriptor.payload_size));
  set_type(*tensor, type.id, made.get());
  if (payload != nullptr) {
    // To be constructed by the caller at once, and then destroyed with the tensor.
    if (made != nullptr) made->destroy = owner->descriptor.destroy;
    *payload = made == nullptr ? nullptr : made->data();
  }
  *result = tensor.give();
}
tenon_status typed_create(uint32_t type, tenon_dtype dtype, int64_t rank, const int64_t* shape,
                          void** payload, tenon_tensor** result, tenon_error** error) {
  return guarded(error, [&] {
    const TensorType& made = TypeTable::process().checked(type);
    if (made.is_tensor) {
      throw Error(TENON_ERROR_TYPE, "{} derives from Tensor, which has data; wrap a tensor instead",
                  made.name);
    }
    if (rank > 0) require_not_null(shape, "the shape");
    give_typed(made, make_dataless(dtype, shape_of(shape, rank), type), payload, result);
  });
}
tenon_status typed_wrap(uint32_t type, tenon_tensor* tensor, void** payload, tenon_tensor** result,
                        tenon_error** error) {
  return guarded(error, [&] {
    require_data(tensor, "the tensor to wrap");
    const TensorType& made = TypeTable::process().checked(type);
    if (!made.is_tensor || made.id == 0) {
      throw Error(TENON_ERROR_TYPE,
                  "{} does not derive from Tensor and cannot share a tensor's data", made.name);
    }
    give_typed(made, share_with_history(*tensor), payload, result);
  });
}
void* typed_payload(const tenon_tensor* tensor) {
  Payload* payload = tensor == nullptr ? nullptr : tensor->payload();
  return payload == nullptr ? nullptr : payload->data();
}
tenon_status tensor_to_plain(tenon_tensor* tensor, tenon_tensor** result, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(tensor, "the tensor");
    *result = to_plain(*tensor).give();
  });
}
tenon_status mode_enter(const char* name, tenon_handler_function handler, void* self, int32_t below,
                        tenon_mode** mode, tenon_error** error) {
  return guarded(error, [&] {
    if (handler == nullptr) throw Error(TENON_ERROR_ARGUMENT, "the handler of a mode is null");
    require_not_null(self, "the state of a mode");
    *mode = reinterpret_cast<tenon_mode*>(
        enter_mode(name == nullptr ? "" : name, handler, self, below != 0));
  });
}
int64_t mode_count() {
  int64_t count = 0;
  if (thread_state.modes_disabled) return 0;
  for (const ModeEntry* mode = thread_state.mode; mode != nullptr; mode = mode->outer)
    count += mode->left.load() ? 0 : 1;
  return count;
}
uint32_t dispatch_disabled() {
  return (thread_state.types_disabled ? uint32_t{TENON_DISABLE_TYPES} : 0) |
         (thread_state.modes_disabled ? uint32_t{TENON_DISABLE_MODES} : 0);
}
uint32_t dispatch_disable(uint32_t what) {
  const uint32_t previous = dispatch_disabled();
  thread_state.types_disabled = (what & TENON_DISABLE_TYPES) != 0;
  thread_state.modes_disabled = (what & TENON_DISABLE_MODES) != 0;
  refresh_mode_flag();
  return previous;
}
int32_t type_dispatches(uint32_t type) {
  const TypeTable& table = TypeTable::process();
  return type != 0 && table.known(type) && table.at(type).dispatches() ? 1 : 0;
}
tenon_status mode_enter_module(tenon_module* module, int32_t below, tenon_mode** mode,
                               tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    *mode = reinterpret_cast<tenon_mode*>(enter_module(*module, below != 0));
  });
}
tenon_status mode_leave(tenon_mode* mode, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(mode, "the mode");
    leave_mode(reinterpret_cast<ModeEntry*>(mode));
  });
}
tenon_status trace_enter(int32_t json, void (*write)(void* self, const char* line, int64_t length),
                         void* self, tenon_trace** trace, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(reinterpret_cast<const void*>(write), "what writes a trace's lines");
    *trace = reinterpret_cast<tenon_trace*>(enter_trace(json != 0, write, self));
  });
}
tenon_status trace_leave(tenon_trace* trace, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(trace, "the trace");
    leave_trace(reinterpret_cast<TraceEntry*>(trace));
  });
}
const Override& override_of(const tenon_override* entry) {
  return *reinterpret_cast<const Override*>(entry);
}
tenon_status override_find(const char* key, const char* provider, const tenon_override** entry,
                           tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(key, "the key of an override");
    *entry = reinterpret_cast<const tenon_override*>(
        &find_override(key, provider == nullptr ? "" : provider));
  });
}
const char* override_provider(const tenon_override* entry) {
  return override_of(entry).provider.c_str();
}
tenon_status override_call(const tenon_override* entry, const tenon_value* arguments, int64_t count,
                           const tenon_string* keywords, const tenon_value* keyword_values,
                           int64_t keyword_count, tenon_value* results, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(entry, "the override");
    call_override(override_of(entry), {arguments, static_cast<size_t>(count)},
                  {keywords, static_cast<size_t>(keyword_count)},
                  {keyword_values, static_cast<size_t>(keyword_count)}, results);
  });
}
void override_disable(const tenon_override* entry) {
  if (entry == nullptr) return;
  const Override& found = override_of(entry);
  TypeTable::process().switch_off(found);
  if (found.is_gradient_override())
    guarded(nullptr, [&] { refresh_active_rules(found.schema.name); });
}
void override_enable(const tenon_override* entry) {
  if (entry == nullptr) return;
  const Override& found = override_of(entry);
  TypeTable::process().switch_on(found);
  if (found.is_gradient_override())
    guarded(nullptr, [&] { refresh_active_rules(found.schema.name); });
}
int32_t override_enabled(const tenon_override* entry) {
  return entry != nullptr && override_of(entry).enabled() ? 1 : 0;
}
tenon_status value_text_slot(const tenon_value* value, tenon_value* text, tenon_error** error) {
  return guarded(error, [&] { *text = make_string(value_text(*value)); });
}

}  // namespace

const tenon_host& host_table() noexcept {
  static const tenon_host table = [] {
    tenon_host host{
        .magic = TENON_HOST_MAGIC,
        .size = sizeof(tenon_host),
        .abi_major = TENON_ABI_MAJOR,
        .abi_minor = TENON_ABI_MINOR,
        .error_set = error_set,
        .error_kind = error_kind,
        .error_message = error_message,
        .error_op = error_op,
        .error_provider = error_provider,
        .error_cause = error_cause,
        .error_release = error_release,
        .error_pass = error_pass,
        .allocate = allocate_slot,
        .free_memory = free_memory,
        .value_release = value_release,
        .string_create = string_create,
        .memory_release_cached = memory_release_cached,
        .tensor_empty = tensor_empty,
        .tensor_wrap = tensor_wrap,
        .tensor_alias = tensor_alias,
        .tensor_retain = tensor_retain,
        .tensor_release = tensor_release,
        .tensor_use_count = tensor_use_count,
        .tensor_version = tensor_version,
        .tensor_shares_storage = tensor_shares_storage,
        .tensor_copy = tensor_copy,
        .tensor_fill = tensor_fill,
        .tensor_item = tensor_item,
        .tensor_text = tensor_text_slot,
        .broadcast_shapes = broadcast_shapes_slot,
        .promote_dtypes = promote_dtypes_slot,
        .tensor_set_requires_grad = tensor_set_requires_grad,
        .tensor_grad = tensor_grad,
        .tensor_set_grad = tensor_set_grad,
        .tensor_is_leaf = tensor_is_leaf,
        .tensor_node_name = tensor_node_name,
        .tensor_retain_grad = tensor_retain_grad,
        .tensor_detach = tensor_detach,
        .grad_mode_set = grad_mode_set,
        .grad_mode = grad_mode,
        .backward = backward,
        .gradients = gradients,
        .dual_level_enter = dual_level_enter,
        .dual_level_exit = dual_level_exit,
        .dual_make = dual_make,
        .dual_unpack = dual_unpack,
        .context_arguments = context_arguments,
        .context_result = context_result,
        .context_slot_count = context_slot_count,
        .context_needs_gradient = context_needs_gradient,
        .context_save = context_save,
        .context_saved_count = context_saved_count,
        .context_saved = context_saved,
        .context_mark_dirty = context_mark_dirty,
        .context_mark_non_differentiable = context_mark_non_differentiable,
        .context_set_materialize_grads = context_set_materialize_grads,
        .context_set_attribute = context_set_attribute,
        .context_attribute = context_attribute,
        .context_give = context_give,
        .op_find = op_find,
        .op_name = op_name,
        .op_call = call_op,
        .op_call_keywords = op_call_keywords,
        .op_result_count = op_result_count,
        .parallel_for = parallel_for_slot,
        .thread_count = thread_count_slot,
        .thread_count_set = thread_count_set,
        .generator_reserve = generator_reserve,
        .generator_seed = generator_seed,
        .log = log_slot,
        .json_parse = json_parse,
        .json_dump = json_dump,
        .json_retain = json_retain,
        .json_release = json_release,
        .json_value = json_value,
        .json_is_object = json_is_object,
        .json_size = json_size,
        .json_at = json_at,
        .json_find = json_find,
        .json_key = json_key,
        .describe = describe_slot,
        .op_signature = op_signature,
        .plugin_path_add = plugin_path_add,
        .plugin_load = plugin_load,
        .config_read = config_read,
        .config_apply = config_apply,
        .module_create = module_create,
        .module_create_json = module_create_json,
        .module_retain = module_retain,
        .module_release = module_release,
        .module_type = module_type,
        .module_attributes = module_attributes,
        .module_register_parameter = module_register_parameter,
        .module_register_buffer = module_register_buffer,
        .module_register_child = module_register_child,
        .module_tensor = module_tensor,
        .module_child = module_child,
        .module_call = module_call,
        .module_training = module_training,
        .module_train = module_train,
        .module_walk = module_walk,
        .module_to = module_to,
        .module_text = module_text_slot,
        .module_save = module_save,
        .module_load = module_load,
        .tensors_save = tensors_save,
        .tensors_load = tensors_load,
        .file_write = file_write,
        .type_find = type_find,
        .type_name = type_name,
        .type_is = type_is,
        .typed_create = typed_create,
        .typed_wrap = typed_wrap,
        .typed_payload = typed_payload,
        .tensor_to_plain = tensor_to_plain,
        .call_parent = call_parent,
        .value_text = value_text_slot,
        .tensor_add_hook = tensor_add_hook,
        .tensor_remove_hook = tensor_remove_hook,
        .node_add_hook = node_add_hook,
        .hook_id = hook_id,
        .hook_remove = hook_remove,
        .hook_retain = hook_retain,
        .hook_release = hook_release,
        .backward_id = backward_id,
        .backward_reaches = backward_reaches,
        .tensor_requires_grad = tensor_requires_grad,
        .tensor_node = tensor_node,
        .node_retain = node_retain,
        .node_release = node_release,
        .node_read = node_read,
        .node_edge = node_edge,
        .graph_describe = graph_describe,
        .inference_mode_set = inference_mode_set,
        .inference_mode = inference_mode,
        .anomaly_mode_set = anomaly_mode_set,
        .anomaly_mode = anomaly_mode,
        .live_tracking_set = live_tracking_set,
        .context_argument = context_argument,
        .context_save_for_forward = context_save_for_forward,
        .context_erase_attribute = context_erase_attribute,
        .context_attribute_tensor = context_attribute_tensor,
        .context_backward_options = context_backward_options,
        .context_take_gradients = context_take_gradients,
        .saved_hooks_push = saved_hooks_push,
        .saved_hooks_disable = saved_hooks_disable,
        .saved_hooks_pop = saved_hooks_pop,
        .strict_gradients_set = strict_gradients_set,
        .op_bind_attributes = op_bind_attributes,
        .mode_enter = mode_enter,
        .mode_leave = mode_leave,
        .mode_count = mode_count,
        .type_dispatches = type_dispatches,
        .op_bind = op_bind,
        .op_explain = op_explain,
        .trace_enter = trace_enter,
        .trace_leave = trace_leave,
        .override_find = override_find,
        .override_provider = override_provider,
        .override_call = override_call,
        .override_disable = override_disable,
        .override_enable = override_enable,
        .override_enabled = override_enabled,
        .mode_enter_module = mode_enter_module,
        .op_call_filled = call_op_filled,
        .dispatch_disable = dispatch_disable,
        .dispatch_disabled = dispatch_disabled,
        .op_returns_tuple = op_returns_tuple,
        .type_find_layout = type_find_layout,
        .json_place = json_place,
        .json_create = json_create,
        .config_apply_lazily = config_apply_lazily,
        .text_suggestion = text_suggestion,
        .text_printable = text_printable,
        .machine_isa = machine_isa,
        .context_kept_result = context_kept_result,
        .op_parameter = op_parameter,
        .module_attribute = module_attribute,
    };
    // Calls of any thread come through here.
    if (process_is_traced()) {
      host.op_call = [](const tenon_op* op, const tenon_value* arguments, int64_t count,
                        tenon_value* results, tenon_error** error) {
        join_process_trace();
        return call_op(op, arguments, count, results, error);
      };
      host.op_call_filled = [](const tenon_op* op, const tenon_value* arguments, int64_t count,
                               tenon_value* results, tenon_error** error) {
        join_process_trace();
        return call_op_filled(op, arguments, count, results, error);
      };
      host.op_call_keywords = [](const tenon_op* op, const tenon_value* arguments, int64_t count,
                                 const tenon_string* keywords, const tenon_value* keyword_values,
                                 int64_t keyword_count, tenon_value* results, tenon_error** error) {
        join_process_trace();
        return ::tenon::core::op_call_keywords(op, arguments, count, keywords, keyword_values,
                                               keyword_count, results, error);
      };
    }
    return host;
  }();
  return table;
}

}  // namespace tenon::core
