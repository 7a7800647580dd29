// Histories and gradients of tensors that have another type than Tensor.
#pragma once

#include <cstdint>

#include "core/autograd/node.hpp"

namespace tenon::core {

// What the gradient is for a tensor of the type: in the type's own structure, where it has one.
// Throws.
TensorRef project_gradient(TensorRef gradient, uint32_t type);

}  // namespace tenon::core
