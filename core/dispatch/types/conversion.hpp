// Typed tensors as plain ones and back: payloads of results, by the rules of types, conversions of
// types, and the fallback of a call.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/dispatch/types/tensor_type.hpp"
#include "core/dispatch/types/type_table.hpp"

namespace tenon::core {

// A new payload, by the type's `metadata`: a copy of the first, a default one, or what merge makes
// of all. Null when the rule needs a function that the type does not have.
PayloadRef new_payload(const TensorType& owner, std::span<Tensor* const> operands);
// The operands that have a payload of that type.
std::vector<Tensor*> payload_operands(const TensorType& owner, const Implementation& implementation,
                                      const tenon_value* arguments);
// An object of a type that keeps one tensor, with another one in its place.
TensorRef replace_component(const TensorType& type, Tensor& plain,
                            std::span<Tensor* const> operands);
// Makes the results of an op on plain tensors results of a child type.
void retype_results(const TensorType& type, const Implementation& implementation,
                    const tenon_value* arguments, tenon_value* results);

// A plain tensor for a typed one, by its type's conversion; with its history. Throws.
TensorRef to_plain(Tensor& tensor);
// An object of the type made of a plain tensor by its from_tensor; with its history. `like`: null,
// or one that it should resemble. Throws TypeError when the type has no from_tensor.
TensorRef from_plain(const TensorType& type, Tensor& plain, Tensor* like);
// Calls the op again with the operands of one type converted, and wraps the results again where
// that is the type's policy. Throws.
void run_fallback(const TensorType& type, const Call& call, tenon_value* results);

// Runs a Function that reads elements, its operands of one type converted; what it gives and saves
// becomes the type again.
tenon_status run_on_copies(const TensorType& type, Call& call) noexcept;

// ---- parts of objects ----

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
