// Tensors of other types as what they are made of.
#include "core/dispatch/components.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/types.hpp"

namespace tenon::core {

void StoredTensors::add(const std::string& name, const TensorRef& tensor) {
  if (!tensor || !tensor->typed()) {
    tensors.push_back({name, tensor});
    return;
  }
  const TensorType& type = TypeTable::process().at(tensor->view.type);
  const TensorType* owner = type.payload_owner;
  Payload* payload = tensor->payload();
  const int64_t count =
      owner == nullptr || payload == nullptr ? 0 : owner->descriptor.component_count;
  if (count == 0 && !type.is_tensor) {
    throw Error(TENON_ERROR_TYPE, quote(name) + " is a " + type.name +
                                      ", which has no component tensors to save; declare them in "
                                      "its type, or convert it to Tensor first");
  }
  types.emplace_back("tensor type of " + name, type.name);
  if (type.is_tensor) tensors.push_back({name, tensor});
  for (int64_t i = 0; i < count; ++i) {
    Tensor* component = owner->component(*payload, i);
    if (component != nullptr)
      add(name + "." + owner->descriptor.components[i], TensorRef(component));
  }
}

}  // namespace tenon::core
