// Typed tensors as plain ones: by their types' conversions, and by the fallback of a call.
#pragma once

#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/types/type_table.hpp"

namespace tenon::core {

// A plain tensor for a typed one, by its type's conversion; with its history. Throws.
TensorRef to_plain(Tensor& tensor);
// Calls the op again with the operands of one type converted, and wraps the results again where
// that is the type's policy. Throws.
void run_fallback(const TensorType& type, const Call& call, tenon_value* results);

}  // namespace tenon::core
