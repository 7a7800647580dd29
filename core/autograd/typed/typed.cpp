// Histories and gradients of tensors that have another type than Tensor.
#include "core/autograd/typed/typed.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/autograd/forward/dual.hpp"
#include "core/autograd/graph/error_node.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/node_block.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/binding/call_frame.hpp"
#include "core/dispatch/call/aliasing.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/types/conversion.hpp"
#include "core/dispatch/types/plan.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

TensorRef share_with_history(Tensor& tensor) {
  refresh_history(tensor);
  TensorRef shared = make_detached(tensor);
  // A view, so that changes in place and tangents reach either of the two through the other.
  if (tensor.storage != nullptr) set_view_base(*shared, tensor);
  if (tensor.requires_grad()) set_history(*shared, gradient_edge(tensor));
  return shared;
}

TensorRef project_gradient(TensorRef gradient, uint32_t type) {
  const TensorType& expected = TypeTable::process().at(type);
  if (gradient->typed() && TypeTable::process().at(gradient->view.type).is(expected))
    return gradient;
  const TensorType* converter = expected.gradient_projector();
  if (converter == nullptr) return gradient;
  Tensor* projected = nullptr;
  call_checked(converter->descriptor.project_gradient, converter->descriptor.self, gradient.get(),
               &projected);
  TensorRef result = TensorRef::take(projected);
  const bool fits = result && result->view.dtype == gradient->view.dtype &&
                    same_shape(result->shape(), gradient->shape());
  if (fits) return result;
  throw Error(
      TENON_ERROR_TYPE, "project_gradient of {} (plugin '{}') gave {} for a gradient of shape {}",
      converter->name, converter->provider,
      result ? "a tensor of another shape or dtype" : "nothing", shape_text(gradient->shape()));
}

uint32_t memory_type(uint32_t type) {
  return type != 0 && TypeTable::process().at(type).owns_memory() ? type : 0;
}

namespace {

auto first_in_own_memory(std::span<Tensor* const> tensors) {
  return std::ranges::find_if(tensors, [](const Tensor* tensor) {
    return tensor != nullptr && tensor->typed() && memory_type(tensor->view.type) != 0;
  });
}

}  // namespace

bool in_own_memory(std::span<Tensor* const> tensors) {
  return first_in_own_memory(tensors) != tensors.end();
}

TensorRef empty_in_memory_of(std::span<Tensor* const> tensors) {
  const auto found = first_in_own_memory(tensors);
  if (found == tensors.end()) return {};
  const int64_t none = 0;
  return moved_to(make_empty((*found)->view.dtype, {&none, 1}), **found);
}

TensorRef moved_to(TensorRef plain, const Tensor& like) {
  if (memory_type(like.view.type) == 0 || plain->typed()) return plain;
  return from_plain(TypeTable::process().at(like.view.type), *plain, const_cast<Tensor*>(&like));
}

TensorRef make_zeros_in(uint32_t type, tenon_dtype dtype, Shape shape, const Tensor* like) {
  TensorRef zeros = make_zeros(dtype, shape);
  if (type == 0) return zeros;
  if (like != nullptr && memory_type(like->view.type) != 0)
    return moved_to(std::move(zeros), *like);
  return project_gradient(std::move(zeros), type);
}

namespace {

// A conversion from or to a type that is unrelated to Tensor: the gradient goes through as it is,
// and the next node makes it what its own tensor's type wants.
class ConversionNode final : public Node {
 public:
  static NodeRef create(const char* name, Tensor& from, const Tensor& to) {
    const Tensor* const output = &to;
    NodeBlock block(sizeof(ConversionNode), 1, {&output, 1});
    Tensor* const given = &from;
    return block.make<ConversionNode>(name, gradient_edge(from), empty_in_memory_of({&given, 1}));
  }
  ConversionNode(const NodeBlock& block, const char* name, Edge edge, TensorRef like)
      : Node(block), name_(name), like_(std::move(like)) {
    edges_[0] = std::move(edge);
  }
  const char* name() const override { return name_; }
  void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& produced,
             const BackwardCall&) override {
    TensorRef gradient(gradients[0]);
    if (gradient && like_) gradient = moved_to(std::move(gradient), *like_);
    produced.push_back(std::move(gradient));
  }

 private:
  const char* name_;
  const TensorRef like_;  // without elements, where `from` is; null where that is plain
};

// An unrecorded tensor that may get a history: there is no other reference to it.
TensorRef own_handle(TensorRef tensor) {
  return tensor->references.load(std::memory_order_relaxed) == 1 ? std::move(tensor)
                                                                 : make_detached(*tensor);
}

std::string lost_text(const Implementation& implementation, const std::string& answerer,
                      const std::string& provider, const char* rule) {
  return format_text(
      "[{}::{}] not implemented: the {} (plugin '{}') returned a tensor without a history; give "
      "the override a backward, compute its result by ops, or call it under no_grad",
      implementation.schema.name, rule, answerer, provider);
}
// `override_address`: entries are never freed.
Error lost_by_override(const Implementation& implementation, uintptr_t override_address) {
  const auto& entry = *reinterpret_cast<const Override*>(override_address);
  return {TENON_ERROR_NOT_IMPLEMENTED,
          lost_text(implementation, format_text("override {}", entry.key()), entry.provider,
                    "backward")};
}
Error lost_by_handler(const Implementation& implementation, uintptr_t type) {
  const TensorType& level = TypeTable::process().at(static_cast<uint32_t>(type));
  return {TENON_ERROR_NOT_IMPLEMENTED,
          lost_text(implementation, format_text("handler of {}", level.name), level.provider,
                    "backward")};
}

// To the tensor's history, and to those of components that it cannot show.
void add_edges(Tensor& tensor, std::vector<Edge>& edges) {
  if (tensor.requires_grad()) edges.push_back(gradient_edge(tensor));
  if (has_held_history(tensor)) return;
  for_each_component(tensor, [&](Tensor& component, int64_t) { add_edges(component, edges); });
}

}  // namespace

TensorRef connect_tangent(TensorRef result, Tensor& from) {
  at_each_level([&] {
    Tensor* tangent = tangent_of(from);
    if (tangent != nullptr && tangent_of(*result) == nullptr &&
        dtype_differentiable(result->view.dtype))
      result = make_dual(*result, *moved_to(to_plain(*tangent), *result));
  });
  return result;
}

TensorRef connect_conversion(TensorRef result, Tensor& from, const char* name) {
  if (result->typed()) connect_components(*result);
  if (from.typed() && !result->requires_grad()) connect_components(from);
  if (!from.requires_grad() || !records() || !dtype_differentiable(result->view.dtype))
    return result;
  if (result->requires_grad()) {
    // The component of `from` has the same history; any other history is not that of `from`.
    if (!from.typed() || has_held_history(from)) return result;
    if (is_leaf(from)) {
      const TensorType& type = TypeTable::process().at(from.view.type);
      throw Error(TENON_ERROR_RUNTIME,
                  "a {} requires grad as a leaf, and so does the Tensor that it converts to: a "
                  "gradient belongs to one of them; call requires_grad_ on one of them only",
                  type.name);
    }
    result = detach(*result);
  }
  result = own_handle(std::move(result));
  set_history(*result, {ConversionNode::create(name, from, *result), 0});
  return result;
}

TensorRef connect_same_data(TensorRef result, Tensor& from, const TensorType& type) {
  // A copy of the elements in other memory.
  if (type.owns_memory() && !result->requires_grad())
    return connect_tangent(connect_conversion(std::move(result), from, kToTensorNode), from);
  const bool same = result->storage == from.storage && result->view.data == from.view.data &&
                    same_shape(result->strides(), from.strides());
  if (same)
    return connect_tangent(connect_conversion(std::move(result), from, kToTensorNode), from);
  const auto lost = [&](const char* what) {
    throw Error(TENON_ERROR_NOT_IMPLEMENTED,
                "to_tensor of {} (plugin '{}') gave a tensor without the {} of what it converts; "
                "compute it by ops, or call it under no_grad",
                type.name, type.provider, what);
  };
  if (!dtype_differentiable(result->view.dtype)) return result;
  if (from.requires_grad() && records() && !result->requires_grad()) lost("history");
  at_each_level([&] {
    if (tangent_of(from) != nullptr && tangent_of(*result) == nullptr) lost("tangent");
  });
  return result;
}

void refuse_hidden_history(const CallFrame& frame, const Override& entry) {
  const bool recording = (frame.hidden & TENON_TENSOR_REQUIRES_GRAD) != 0 && records();
  if (!recording &&
      ((frame.hidden & TENON_TENSOR_HAS_TANGENT) == 0 || thread_state.dual_level == nullptr))
    return;
  throw Error(TENON_ERROR_NOT_IMPLEMENTED,
              "override {} (plugin '{}') has a backward, and an operand's component {} that no "
              "rule of the operand's type leads to: a gradient of a subclass of Tensor is that of "
              "its data alone, and one of integers does not exist; compute the result by ops "
              "without a backward, or detach the component",
              entry.key(), entry.provider, recording ? "requires grad" : "carries a tangent");
}

void refuse_lost_gradient(const CallFrame& frame, tenon_value* results) {
  const Implementation& implementation = frame.call.implementation;
  const Candidate& candidate = frame.chain->candidates[frame.index];
  const TensorType& level = *candidate.level;
  const bool handler = candidate.kind == Candidate::Kind::Handler;
  if (implementation.descriptor.differentiable == TENON_DIFFERENTIABLE_NONE ||
      (implementation.flags & TENON_OP_ZERO_GRADIENT) != 0)
    return;
  const uint32_t carried = frame.call.flags | frame.hidden;
  const bool recording = (carried & TENON_TENSOR_REQUIRES_GRAD) != 0 && records();
  const bool dual = (carried & TENON_TENSOR_HAS_TANGENT) != 0 && thread_state.dual_level != nullptr;
  const Override* const entry = candidate.entry;
  std::vector<Edge> edges;
  // One that was changed in place is what others use next.
  const auto changed = [&](const Tensor* tensor) {
    bool found = false;
    for_each_written(implementation, frame.call.arguments,
                     [&](const Tensor* operand, uint32_t) { found |= operand == tensor; });
    return found;
  };
  const auto put_refusal = [&](Tensor* tensor) {
    const uintptr_t detail = handler ? level.id : reinterpret_cast<uintptr_t>(entry);
    set_history(*tensor,
                {ErrorNode::create(implementation, handler ? lost_by_handler : lost_by_override,
                                   detail, edges, {&tensor, 1}),
                 0});
  };
  const auto refuse = [&](Tensor*& tensor) {
    if (tensor == nullptr || !dtype_differentiable(tensor->view.dtype)) return;
    const uint32_t held = tensor->typed() ? refresh_components(*tensor) : 0;
    const uint32_t shown = tensor->flags() | held;
    if (dual && (shown & TENON_TENSOR_HAS_TANGENT) == 0) {
      const std::string who = handler ? format_text("handler of {}", level.name)
                                      : format_text("override {}", entry->key());
      throw Error(
          TENON_ERROR_NOT_IMPLEMENTED,
          lost_text(implementation, who, handler ? level.provider : entry->provider, "jvp"));
    }
    // Changed without being recorded, a computed operand has the history of its old value.
    const bool outdated = tensor->node != nullptr && changed(tensor) &&
                          tensor->history_version() != tensor->version();
    if (!recording || ((shown & TENON_TENSOR_REQUIRES_GRAD) != 0 && !outdated)) return;
    if (edges.empty()) {
      for_each_operand(implementation, frame.call.arguments,
                       [&](Tensor* operand) { add_edges(*operand, edges); });
    }
    if (!changed(tensor)) {
      tensor = own_handle(TensorRef::take(std::exchange(tensor, nullptr))).give();
    } else if (Tensor* base = tensor->view_base;
               base != nullptr && (outdated ? base->node != nullptr : !base->requires_grad())) {
      put_refusal(base);
    }
    put_refusal(tensor);
  };
  for_each_result(implementation, results, refuse);
}

}  // namespace tenon::core
