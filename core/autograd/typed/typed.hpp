// Histories and gradients of tensors that have another type than Tensor.
#pragma once

#include <cstdint>
#include <span>

#include "core/tensor/tensor.hpp"
#include "tenon/abi/value.h"

namespace tenon::core {

struct CallFrame;
struct Override;
struct TensorType;

// Projects a gradient onto a tensor of the type: into the type's own structure, where it has one.
// Throws.
TensorRef project_gradient(TensorRef gradient, uint32_t type);

// The type where its tensors are in separate memory, else Tensor: that of gradients which are of
// plain data otherwise.
uint32_t memory_type(uint32_t type);
// Whether one of the tensors, any of which may be null, is of such a type.
bool in_own_memory(std::span<Tensor* const> tensors);
// A tensor without elements in the separate memory of the first one that is in such; null where none is.
TensorRef empty_in_memory_of(std::span<Tensor* const> tensors);
// A plain tensor in the memory that `like` is in, not recorded: itself where that is plain.
TensorRef moved_to(TensorRef plain, const Tensor& like);
// Zeros as a gradient of such a type, where `like` is; null: where the type puts gradients.
TensorRef make_zeros_in(uint32_t type, tenon_dtype dtype, Shape shape,
                        const Tensor* like = nullptr);

// ---- called by dispatch, see HigherAreas ----
TensorRef share_with_history(Tensor& tensor);
TensorRef connect_conversion(TensorRef result, Tensor& from, const char* name);
TensorRef connect_tangent(TensorRef result, Tensor& from);
TensorRef connect_same_data(TensorRef result, Tensor& from, const TensorType& type);
void refuse_hidden_history(const CallFrame& frame, const Override& entry);
void refuse_lost_gradient(const CallFrame& frame, tenon_value* results);

}  // namespace tenon::core
