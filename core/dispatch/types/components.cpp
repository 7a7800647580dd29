// Parts of payloads, and payloads made from parts.

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/types/conversion.hpp"
#include "core/dispatch/types/type_table.hpp"

namespace tenon::core {

namespace {

const TensorType& type_of(const Tensor& tensor) {
  return TypeTable::process().at(tensor.view.type);
}

// Whether its components are all that there is in a payload, and it can be made from nothing.
bool only_components(const tenon_type_descriptor& descriptor) {
  return descriptor.payload_size ==
             descriptor.component_count * static_cast<int64_t>(sizeof(Tensor*)) &&
         descriptor.merge != nullptr;
}

PayloadRef make_described(const TensorType& owner, std::string_view attributes) {
  const tenon_type_descriptor& descriptor = owner.descriptor;
  PayloadRef payload(make_payload(owner.id, descriptor.payload_size));
  call_checked(descriptor.restore, descriptor.self, attributes.data(),
               static_cast<int64_t>(attributes.size()), payload->data());
  payload->destroy = descriptor.destroy;
  return payload;
}

}  // namespace

tenon_type_parts parts_of(uint32_t id) {
  const TensorType& type = TypeTable::process().checked(id);
  const TensorType* owner = type.payload_owner;
  tenon_type_parts parts{};
  parts.provider = type.provider.c_str();
  parts.flags =
      (type.is_tensor ? TENON_PARTS_DATA : 0) | (type.owns_memory() ? TENON_PARTS_OWN_MEMORY : 0);
  if (owner == nullptr) return parts;
  const tenon_type_descriptor& descriptor = owner->descriptor;
  parts.flags |= TENON_PARTS_PAYLOAD | (descriptor.attributes != nullptr ? TENON_PARTS_WRITES : 0) |
                 (descriptor.restore != nullptr ? TENON_PARTS_READS : 0) |
                 (only_components(descriptor) ? TENON_PARTS_COMPLETE : 0);
  parts.components = descriptor.components;
  parts.component_count = descriptor.component_count;
  return parts;
}

tenon_value attributes_of(const Tensor& tensor) {
  tenon_value text{};
  text.tag = TENON_VALUE_NONE;
  Payload* payload = tensor.payload();
  if (payload == nullptr) return text;
  const tenon_type_descriptor& descriptor = type_of(tensor).payload_owner->descriptor;
  if (descriptor.attributes == nullptr) return text;
  call_checked(descriptor.attributes, descriptor.self, payload->data(), &text);
  return text;
}

PayloadRef payload_with_attributes(const Tensor& tensor, std::string_view attributes) {
  const TensorType& type = type_of(tensor);
  const TensorType* owner = type.payload_owner;
  if (tensor.payload() == nullptr || owner->descriptor.restore == nullptr)
    throw Error(TENON_ERROR_TYPE, "a {} has no attributes", type.name);
  PayloadRef payload = make_described(*owner, attributes);
  for_each_component(tensor, [&](Tensor& component, int64_t i) {
    put(owner->component(*payload, i), TensorRef(&component));
  });
  return payload;
}

PayloadRef compose_payload(const TensorType& type, std::optional<std::string_view> attributes,
                           std::span<const tenon_string> names,
                           std::span<Tensor* const> components) {
  const auto fail = [&](const char* part) {
    throw Error(TENON_ERROR_VALUE, "a {} is not made of {}: see `parts` of its type", type.name,
                part);
  };
  const TensorType* owner = type.payload_owner;
  if (owner == nullptr) {
    if (attributes || !names.empty()) fail("a payload");
    return nullptr;
  }
  const tenon_type_descriptor& descriptor = owner->descriptor;
  if (attributes.has_value() != (descriptor.restore != nullptr))
    fail(attributes ? "attributes" : "components alone");
  if (!attributes && !only_components(descriptor)) fail("components alone");
  PayloadRef payload = attributes ? make_described(*owner, *attributes) : new_payload(*owner, {});
  for (size_t k = 0; k < names.size(); ++k) {
    const std::string_view name(names[k].data, static_cast<size_t>(names[k].length));
    int64_t i = 0;
    while (i < descriptor.component_count && name != descriptor.components[i]) ++i;
    if (i == descriptor.component_count)
      throw Error(TENON_ERROR_VALUE, "type {} has no component {}", type.name, quote(name));
    put(owner->component(*payload, i), TensorRef(components[k]));
  }
  return payload;
}

}  // namespace tenon::core
