// Histories of tensors that are made of component tensors.
//
// A tensor-like without its own history has that of its components: a node that turns its
// gradient into theirs. A component may get another history at any time (a change in place, a
// requires_grad_, another tensor in its place), so the node is updated before a history
// is read: refresh_history.
#pragma once

#include <cstdint>

#include "core/tensor/tensor.hpp"

namespace tenon::core {

// Updates history and tangent of a typed tensor from its components. Returns what the
// components carry and the tensor itself cannot show: TENON_TENSOR_REQUIRES_GRAD,
// TENON_TENSOR_HAS_TANGENT. Throws.
uint32_t refresh_components(Tensor& tensor);
// The history alone.
void connect_components(Tensor& tensor);
// Whether its history is only that of what it holds, so that its components can be used directly.
bool has_held_history(const Tensor& tensor);

// Another handle without history and tangent, and so are its components: what detach returns.
// Throws TypeError when components have a history and their payload cannot be copied.
TensorRef detach(Tensor& tensor);
// Before the tensor gets its own history: its components lose theirs, and their tangents.
void detach_components(Tensor& tensor);
void drop_component_tangents(Tensor& tensor);
// Changes whenever data of the tensor or of its components is changed in place.
uint32_t typed_version(const Tensor& tensor);
inline uint32_t version_of(const Tensor& tensor) {
  return tensor.typed() ? typed_version(tensor) : tensor.version();
}
// The tensor whose version `version_of` gives: itself, or the component that was changed last.
const Tensor& last_changed(const Tensor& tensor);

}  // namespace tenon::core
