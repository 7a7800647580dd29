// Parts of objects of tensor types: attributes and components of their payloads.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/dispatch/types/tensor_type.hpp"

namespace tenon::core {

// Parts of the objects of a type. Throws ValueError where the id is not that of a type.
tenon_type_parts parts_of(uint32_t type);
// The text of the attributes of the tensor's payload, owned; none where its type makes none.
tenon_value attributes_of(const Tensor& tensor);
// A payload of these attributes with the tensor's own components. Throws TypeError where its type
// has no attributes.
PayloadRef payload_with_attributes(const Tensor& tensor, std::string_view attributes);
// A payload from its parts; null for a type without one. Throws ValueError where the type is made of
// other parts.
PayloadRef compose_payload(const TensorType& type, std::optional<std::string_view> attributes,
                           std::span<const tenon_string> names,
                           std::span<Tensor* const> components);

}  // namespace tenon::core
