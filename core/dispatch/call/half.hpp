// Ops on f16 and bf16: kernels have no loops for them, so that they run in f32.
//
// A call has such operands converted by op `to`, which is recorded and carries tangents like any
// other, runs, and has its f32 results converted to what its floating operands have in common. So
// the op, its rules and what they save see f32, and gradients arrive in the operands' dtype. What a
// call changes in place is written back; a dtype that it was asked for is that of its results;
// integers and bools are left alone.
#pragma once

#include "core/dispatch/table/op.hpp"

namespace tenon::core {

// Whether f16 and bf16 operands stay as they are: for composites, whose ops are converted one by
// one; to elementwise kernels, whose runner converts (elementwise.cpp); to views; to what declares
// TENON_OP_ANY_DTYPE; and to overrides, which take tensors of their types.
bool takes_half(const Implementation& implementation);

}  // namespace tenon::core
