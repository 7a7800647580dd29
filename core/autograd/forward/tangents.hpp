// Tangents through calls: those of the results of a call that has run, by the op's jvp.
#pragma once

#include <span>

#include "core/autograd/graph/op_node.hpp"
#include "core/dispatch/call/context.hpp"
#include "core/dispatch/table/op.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// Whether some operand carries a tangent of the present level.
bool carries_tangent(const Implementation& implementation, const tenon_value* arguments);
// Before the call runs: throws when the op cannot carry tangents, or not in place.
void check_dual(const Implementation& implementation, const tenon_value* arguments);

// A call that has run, and was recorded when it is to be.
struct DualCall {
  const Implementation& implementation;
  const tenon_value* arguments;
  std::span<const TensorRef> originals;  // by slot: operands as they were, where they changed
  std::span<Tensor** const> results;
  std::span<const bool> constant;    // by result: marked as not differentiable
  FunctionContext* function;         // context of a Function
  std::span<const TensorRef> saved;  // for its jvp
  OpNode* node;                      // null when it was not recorded
};
// Computes the tangents of the results and attaches them; in place where the call was in place.
void propagate_tangents(const DualCall& call);

}  // namespace tenon::core
