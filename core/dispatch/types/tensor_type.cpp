// Properties that a tensor type inherits, or that a config changes.
#include "core/dispatch/types/tensor_type.hpp"

#include "core/base/error.hpp"
#include "core/dispatch/types/type_table.hpp"

namespace tenon::core {

int TensorType::distance(const TensorType& ancestor) const {
  int steps = 0;
  for (const TensorType* type = this; type != nullptr; type = type->parent, ++steps) {
    if (type == &ancestor) return steps;
  }
  return -1;
}

const char* fallback_text(int64_t fallback) {
  switch (fallback) {
    case TENON_FALLBACK_TO_TENSOR:
      return "to_tensor";
    case TENON_FALLBACK_UNWRAP_REWRAP:
      return "unwrap_rewrap";
    case TENON_FALLBACK_DECLINE:
      return "decline";
    default:
      return "inherit";
  }
}

uint32_t TensorType::fallback() const {
  for (const TensorType* type = this; type != nullptr; type = type->parent) {
    const TypeSettings* configured = type->settings.load(std::memory_order_acquire);
    if (configured != nullptr && configured->fallback != TENON_FALLBACK_INHERIT)
      return configured->fallback;
    if (type->descriptor.fallback != TENON_FALLBACK_INHERIT) return type->descriptor.fallback;
  }
  return TENON_FALLBACK_DECLINE;
}

bool TensorType::falls_back_for(std::string_view op) const {
  for (const TensorType* type = this; type != nullptr; type = type->parent) {
    const TypeSettings* configured = type->settings.load(std::memory_order_acquire);
    if (configured == nullptr ||
        (configured->fallback_allow.empty() && configured->fallback_deny.empty()))
      continue;
    return configured->lets_fall_back(op);
  }
  return true;
}

bool TensorType::has_handler() const {
  return nearest([](const TensorType& type) { return type.descriptor.handler != nullptr; }) !=
         nullptr;
}

Tensor*& TensorType::component(Payload& payload, int64_t index) const {
  Tensor** place = descriptor.component(payload.data(), index);
  if (place != nullptr) return *place;
  throw Error(TENON_ERROR_TYPE, "type {} of plugin '{}' does not say where its component '{}' is",
              name, provider, descriptor.components[index]);
}

const TensorType* TensorType::converter() const {
  return nearest([](const TensorType& type) {
    return type.descriptor.to_tensor != nullptr || type.keeps_one_tensor();
  });
}

const TensorType* component_owner(const Tensor& tensor) {
  const Payload* payload = tensor.payload();
  if (payload == nullptr) return nullptr;
  const TensorType& owner = TypeTable::process().at(payload->owner);
  return owner.descriptor.component_count > 0 ? &owner : nullptr;
}

const TensorType* TensorType::gradient_projector() const {
  return nearest(
      [](const TensorType& type) { return type.descriptor.project_gradient != nullptr; });
}

bool TensorType::has_gradients() const {
  return is_tensor || gradient_projector() != nullptr || converter() != nullptr;
}

bool TensorType::dispatches() const {
  if (is_tensor || has_handler() || fallback() != TENON_FALLBACK_DECLINE) return true;
  return nearest([](const TensorType& type) {
           return type.has_overrides.load(std::memory_order_relaxed);
         }) != nullptr;
}

}  // namespace tenon::core
