// Histories of tensors that are made of component tensors.
#include "core/autograd/typed/component_history.hpp"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/autograd/engine/engine.hpp"
#include "core/autograd/forward/dual.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/node_block.hpp"
#include "core/base/error.hpp"
#include "core/base/fork.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/types/conversion.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

constexpr uint32_t kCarried = TENON_TENSOR_REQUIRES_GRAD | TENON_TENSOR_HAS_TANGENT;
constexpr const char* kNodeName = "FromComponentsBackward0";

const TensorType& type_of(const Tensor& tensor) {
  return TypeTable::process().at(tensor.view.type);
}

// Flags of components, and of theirs; tangents of past levels count.
uint32_t flags_of_components(const Tensor& tensor) {
  uint32_t flags = 0;
  for_each_component(tensor, [&](const Tensor& component, int64_t) {
    flags |= component.flags() | flags_of_components(component);
  });
  return flags & kCarried;
}

// The tensor's payload with every component replaced; null when it cannot be copied.
template <class Replace>
PayloadRef copy_payload(const Tensor& tensor, Replace&& replace) {
  const TensorType& owner = *component_owner(tensor);
  const tenon_type_descriptor& rule = owner.descriptor;
  if (rule.copy == nullptr) return nullptr;
  PayloadRef made(make_payload(owner.id, rule.payload_size));
  tenon_error* cause = nullptr;
  const tenon_status status = rule.copy(rule.self, tensor.payload()->data(), made->data(), &cause);
  if (status != TENON_OK) throw_status(status, cause);
  made->destroy = rule.destroy;
  for (int64_t i = 0; i < rule.component_count; ++i) {
    Tensor*& place = owner.component(*made, i);
    if (place != nullptr) put(place, replace(*place));
  }
  return made;
}

// Turns the gradient of a tensor-like into those of its components.
class ComponentsNode final : public Node {
 public:
  static NodeRef create(Tensor& tensor, const TensorType& owner) {
    const Tensor* const output = &tensor;
    NodeBlock block(sizeof(ComponentsNode), static_cast<size_t>(owner.descriptor.component_count),
                    {&output, 1});
    const IntrusivePtr<ComponentsNode> node = block.make<ComponentsNode>(owner);
    for_each_component(
        tensor, [&](Tensor& component, int64_t i) { node->edges_[i] = gradient_edge(component); });
    // A rule that is run again needs the components as they are now, whatever becomes of the
    // tensor; a copy also keeps the history from keeping itself alive.
    const TensorType* converter = type_of(tensor).converter();
    if (converter == nullptr || converter->descriptor.to_tensor == nullptr) return node;
    node->held_ = make_detached(tensor);
    if (const PayloadRef copy = copy_payload(tensor, [](Tensor& own) { return TensorRef(&own); }))
      set_type(*node->held_, tensor.view.type, copy.get());
    node->version_ = version_of(*node->held_);
    return node;
  }
  ComponentsNode(const NodeBlock& block, const TensorType& owner) : Node(block), owner_(owner) {}
  const char* name() const override { return kNodeName; }

  // Whether the components' histories are still those that it leads to.
  bool leads_to(const Tensor& tensor) const {
    bool same = component_owner(tensor) == &owner_;
    std::vector<bool> seen(edge_count_);
    for_each_component(tensor, [&](Tensor& component, int64_t i) {
      if (!same) return;
      seen[static_cast<size_t>(i)] = true;
      const Edge edge = gradient_edge(component);
      same = edge.node.get() == edges_[i].node.get() && edge.output == edges_[i].output;
    });
    for (size_t i = 0; same && i < seen.size(); ++i) same = seen[i] || !edges_[i].node;
    return same;
  }

  void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& produced,
             const BackwardCall& call) override {
    produced.resize(edge_count_);
    Tensor* gradient = gradients[0];
    if (gradient == nullptr) return;
    if (held_) {
      through_conversion(*gradient, produced, call);
    } else if (component_owner(*gradient) == &owner_) {
      for_each_component(*gradient, [&](Tensor& component, int64_t i) {
        if (edges_[i].node) produced[static_cast<size_t>(i)] = TensorRef(&component);
      });
    } else if (edge_count_ == 1) {
      produced[0] = TensorRef(gradient);
    } else {
      fail(
          format_text("a gradient of type {} does not say what it is for its components; give the "
                      "type a to_tensor made of ops, or a project_gradient that returns a {}",
                      type_of(*gradient).name, owner_.name));
    }
  }

 private:
  [[noreturn, gnu::cold]] void fail(const std::string& what) const {
    std::vector<std::string> names;
    for (int64_t i = 0; i < owner_.descriptor.component_count; ++i)
      names.push_back(quote(owner_.descriptor.components[i]));
    throw Error(TENON_ERROR_NOT_IMPLEMENTED,
                "no gradient reaches the components {} of type {} (plugin '{}'): {}",
                join(names, ", "), owner_.name, owner_.provider, what);
  }

  // The type's to_tensor, run and differentiated once more.
  void through_conversion(Tensor& gradient, std::vector<TensorRef>& produced,
                          const BackwardCall& call) {
    if (version_of(*held_) != version_) {
      throw Error(TENON_ERROR_INPLACE,
                  "one of the variables needed for gradient computation has been modified by an "
                  "inplace operation: a component of a {}, after it was used; change the component "
                  "before, or a clone of it",
                  owner_.name);
    }
    const GradModeGuard recording(true);
    const TensorRef plain = to_plain(*held_);
    const auto* node = static_cast<const Node*>(plain->node);
    if (!plain->requires_grad() || (node != nullptr && node->name() == kToTensorNode))
      fail("its to_tensor returns a tensor without a history; compute it by ops");
    const TensorRef seed = to_plain(gradient);
    std::vector<Tensor*> inputs;
    std::vector<size_t> places;
    for_each_component(*held_, [&](Tensor& component, int64_t i) {
      if (!edges_[i].node) return;
      inputs.push_back(&component);
      places.push_back(static_cast<size_t>(i));
    });
    Tensor* const root = plain.get();
    Tensor* const given = seed.get();
    std::vector<TensorRef> found = run_gradients(
        {&root, 1}, {&given, 1}, inputs, {call.create_graph, call.create_graph}, Unused::Null);
    for (size_t i = 0; i < found.size(); ++i) produced[places[i]] = std::move(found[i]);
  }

  const TensorType& owner_;
  TensorRef held_;  // destination of the gradients that to_tensor computes
  uint32_t version_ = 0;
};

ComponentsNode* components_node(const Tensor& tensor) {
  auto* node = static_cast<Node*>(tensor.node);
  return node != nullptr && node->name() == kNodeName ? static_cast<ComponentsNode*>(node)
                                                      : nullptr;
}

void connect(Tensor& tensor, const TensorType& owner, bool tracked) {
  // Readers of one tensor may be the first to notice, all at once. Copying a payload may lead here
  // for what it holds.
  static std::recursive_mutex connecting;
  static const HeldAcrossFork held(connecting);
  TensorRef old;  // keeps the old node until the lock is gone
  const std::lock_guard lock(connecting);
  ComponentsNode* present = components_node(tensor);
  if (present == nullptr && tensor.requires_grad()) {
    if (tensor.node != nullptr || !tracked) return;
    throw Error(TENON_ERROR_RUNTIME,
                "a {} requires grad as a leaf, and so does one of its components: a gradient "
                "belongs to one of them; call requires_grad_ on one of them only",
                type_of(tensor).name);
  }
  if (present != nullptr && tracked && present->leads_to(tensor)) return;
  if (present != nullptr) {
    old = make_detached(tensor);
    set_history(*old, {NodeRef(present), tensor.node_output});
  }
  if (!tracked) {
    if (present == nullptr) return;
    std::exchange(tensor.node, nullptr)->release();
    __atomic_store_n(&tensor.view.flags, tensor.view.flags & ~uint32_t{TENON_TENSOR_REQUIRES_GRAD},
                     __ATOMIC_RELAXED);
    return;
  }
  set_history(tensor, {ComponentsNode::create(tensor, owner), 0});
}

// Returns the flags that the components carry and the tensor cannot show.
uint32_t connect_history(Tensor& tensor) {
  const TensorType* owner = component_owner(tensor);
  if (owner == nullptr) return 0;
  uint32_t carried = 0;
  for_each_component(tensor, *owner, [&](Tensor& component, int64_t) {
    refresh_history(component);
    const uint32_t hidden = component.typed() ? refresh_components(component) : 0;
    carried |= hidden | (component.flags() & TENON_TENSOR_REQUIRES_GRAD);
    at_each_level([&] {
      if (tangent_of(component) != nullptr) carried |= TENON_TENSOR_HAS_TANGENT;
    });
  });
  const TensorType& type = type_of(tensor);
  // The gradient of a subclass of Tensor is that of its data, and of integers there is none.
  if (type.is_tensor || !dtype_differentiable(tensor.view.dtype)) return carried;
  const bool tracked = (carried & TENON_TENSOR_REQUIRES_GRAD) != 0;
  if (tracked || tensor.requires_grad()) connect(tensor, *owner, tracked);
  return carried & TENON_TENSOR_HAS_TANGENT;
}

}  // namespace

void connect_components(Tensor& tensor) { connect_history(tensor); }

uint32_t refresh_components(Tensor& tensor) {
  const uint32_t hidden = connect_history(tensor);
  if ((hidden & TENON_TENSOR_HAS_TANGENT) == 0) return hidden;
  const TensorType& type = type_of(tensor);
  if (type.is_tensor || !dtype_differentiable(tensor.view.dtype) || type.converter() == nullptr)
    return hidden;
  const TensorRef plain = to_plain(tensor);
  uint32_t shown = hidden;
  at_each_level([&] {
    Tensor* tangent = tangent_of(*plain);
    if (tangent == nullptr) return;
    carry_tangent(tensor, *to_plain(*tangent));
    shown = 0;
  });
  return shown;
}

bool has_held_history(const Tensor& tensor) {
  return tensor.node != nullptr && (components_node(tensor) != nullptr ||
                                    static_cast<Node*>(tensor.node)->name() == kFromTensorNode);
}

namespace {

// Replaces components that carry something, or all of them.
template <class Replace>
void replace_components(Tensor& tensor, Replace&& replace, bool always = false) {
  if (!tensor.typed() || component_owner(tensor) == nullptr) return;
  const bool carried = flags_of_components(tensor) != 0;
  if (!carried && !always) return;
  const PayloadRef copy = copy_payload(tensor, replace);
  if (copy == nullptr) {
    if (!carried) return;
    throw Error(TENON_ERROR_TYPE,
                "{} cannot be detached: its components have a history, and its payload cannot be "
                "copied; make the struct copyable",
                type_of(tensor).name);
  }
  set_type(tensor, tensor.view.type, copy.get());
}

}  // namespace

TensorRef detach(Tensor& tensor) {
  TensorRef result = make_detached(tensor);
  // Its own components: those of the tensor may get a history later.
  replace_components(*result, detach, true);
  return result;
}

void detach_components(Tensor& tensor) { replace_components(tensor, detach); }

void drop_component_tangents(Tensor& tensor) { replace_components(tensor, without_tangent); }

uint32_t typed_version(const Tensor& tensor) {
  uint32_t version = tensor.version();
  for_each_component(tensor,
                     [&](const Tensor& component, int64_t) { version += version_of(component); });
  return version;
}

const Tensor& last_changed(const Tensor& tensor) {
  const Tensor* found = &tensor;
  if (tensor.storage != nullptr) return tensor;
  for_each_component(tensor, [&](const Tensor& component, int64_t) {
    const Tensor& inner = last_changed(component);
    if (inner.storage != nullptr && (found->storage == nullptr || inner.version() != 0))
      found = &inner;
  });
  return *found;
}

}  // namespace tenon::core
