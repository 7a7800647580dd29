// Tensors as configs write them: numbers, lists of numbers, and lists of lists.
#pragma once

#include <string>

#include <tenon/json.hpp>
#include <tenon/tensor.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

// Why a value is not such a tensor; empty: it is one.
std::string tensor_fault(const Json& value);

// The tensor: i64 where all numbers are written as whole ones, else f32. ValueError where
// tensor_fault has a text.
Tensor tensor_of(const Json& value);

// Whether a value names an op that computes the tensor: "balanced", {"type": "balanced"}.
bool names_op(const Json& value);

}  // namespace training

TENON_NAMESPACE_END
