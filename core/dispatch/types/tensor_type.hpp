// A tensor type.
//
// A typed object is an ordinary tensor handle whose view carries TENON_TENSOR_TYPED and the id of
// its type. A subclass of Tensor has data, and is a plain tensor wherever types are not looked at.
// Any other ("tensor-like") has shape and dtype only: whatever needs data refuses it. What a type
// keeps with its objects is their payload, constructed by the plugin in memory of the host.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/plugin_code.hpp"
#include "core/base/text.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/type.h"

namespace tenon::core {

// "decline", "to_tensor", "unwrap_rewrap", "inherit"
const char* fallback_text(int64_t fallback);

// Settings of a config for a tensor type. Patterns are names of ops in which '*' stands for any
// text.
struct TypeSettings {
  uint32_t fallback = TENON_FALLBACK_INHERIT;
  std::vector<std::string> fallback_allow;  // ops that fall back; empty: all
  std::vector<std::string> fallback_deny;   // ops that do not, allowed or not
  std::vector<std::string> covers;          // the ops that it is meant for; empty: all

  bool covers_op(std::string_view op) const { return covers.empty() || any_matches(covers, op); }
  bool lets_fall_back(std::string_view op) const {
    return (fallback_allow.empty() || any_matches(fallback_allow, op)) &&
           !any_matches(fallback_deny, op);
  }
};

// Published types never change, except for what a config decides; they live as long as the process,
// and keep their plugin's code: objects name them by id.
struct TensorType {
  uint32_t id = 0;
  std::string name;
  std::string provider;
  const TensorType* parent = nullptr;         // null: Tensor itself, or unrelated to it
  bool is_tensor = false;                     // Tensor or a descendant
  const TensorType* payload_owner = nullptr;  // the nearest in its line that has a payload
  tenon_type_descriptor descriptor{};
  std::atomic<const TypeSettings*> settings{nullptr};  // null: the config does not speak of it
  PluginCode* code = nullptr;          // code of its functions; null: the program itself
  std::atomic<bool> withdrawn{false};  // its plugin was unloaded: new objects are of another type
  std::atomic<bool> has_overrides{false};
  mutable std::atomic<bool> complete{false};  // the overrides of other plugins for it are there

  // Tensor itself, in whichever table.
  bool is_plain() const { return is_tensor && parent == nullptr; }
  // The nearest type in its line of descent, itself first, that has(type); null when none has.
  template <class Has>
  const TensorType* nearest(Has&& has) const {
    const TensorType* type = this;
    while (type != nullptr && !has(*type)) type = type->parent;
    return type;
  }
  bool is(const TensorType& other) const {
    return nearest([&](const TensorType& type) { return &type == &other; }) != nullptr;
  }
  // Steps up to the ancestor; -1 when it is none.
  int distance(const TensorType& ancestor) const;
  uint32_t fallback() const;
  // Whether the config lets its fallback stand for this op.
  bool falls_back_for(std::string_view op) const;
  // Whether the payload of such a tensor has component tensors.
  bool has_components() const {
    return payload_owner != nullptr && payload_owner->descriptor.component_count > 0;
  }
  bool has_handler() const;  // its own or an inherited one, that of Tensor not counted
  // Whether its payload holds one tensor that it stands for, so that conversions need no code. A
  // handler that takes ops apart has a tensor to compute with, which may have another shape.
  bool keeps_one_tensor() const {
    return !is_tensor && descriptor.component_count == 1 &&
           (descriptor.flags & TENON_TYPE_DECOMPOSES) == 0;
  }
  // The place where a payload of this type keeps one of its tensors. Throws when the plugin does
  // not say.
  Tensor*& component(Payload& payload, int64_t index) const;
  // The nearest in its line that says how to convert to Tensor; null when none does.
  const TensorType* converter() const;
  // The nearest in its line that projects gradients; null when none does.
  const TensorType* gradient_projector() const;
  // Whether elements are in memory that only the type's own code reads.
  bool owns_memory() const {
    return nearest([](const TensorType& type) {
             return (type.descriptor.flags & TENON_TYPE_OWN_MEMORY) != 0;
           }) != nullptr;
  }
  bool has_gradients() const;  // whether tensors of it may require grad
  // Whether calls ask it at all; to ops, objects of other types are foreign objects.
  bool dispatches() const;
};

struct PayloadRelease {
  void operator()(Payload* payload) const { payload->release(); }
};
using PayloadRef = std::unique_ptr<Payload, PayloadRelease>;

// The type whose component tensors the tensor's payload has; null when it has none.
const TensorType* component_owner(const Tensor& tensor);
// Calls visit(component, index) with every component tensor that is there; `owner`: its
// component_owner.
template <class Visit>
void for_each_component(const Tensor& tensor, const TensorType& owner, Visit&& visit) {
  for (int64_t i = 0; i < owner.descriptor.component_count; ++i) {
    if (Tensor* component = owner.component(*tensor.payload(), i)) visit(*component, i);
  }
}
template <class Visit>
void for_each_component(const Tensor& tensor, Visit&& visit) {
  if (const TensorType* owner = component_owner(tensor)) for_each_component(tensor, *owner, visit);
}

}  // namespace tenon::core
