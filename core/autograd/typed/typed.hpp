// Histories and gradients of tensors that have another type than Tensor.
#pragma once

#include <cstdint>

#include "core/tensor/tensor.hpp"
#include "tenon/abi/value.h"

namespace tenon::core {

struct CallFrame;
struct Override;
struct TensorType;

// Projects a gradient onto a tensor of the type: into the type's own structure, where it has one.
// Throws.
TensorRef project_gradient(TensorRef gradient, uint32_t type);

// ---- called by dispatch, see HigherAreas ----
TensorRef share_with_history(Tensor& tensor);
TensorRef connect_conversion(TensorRef result, Tensor& from, const char* name);
TensorRef connect_tangent(TensorRef result, Tensor& from);
TensorRef connect_same_data(TensorRef result, Tensor& from, const TensorType& type);
void refuse_hidden_history(const CallFrame& frame, const Override& entry);
void refuse_lost_gradient(const CallFrame& frame, tenon_value* results);

}  // namespace tenon::core
