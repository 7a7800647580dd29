// Forward mode: tangents that ops carry along while a level is open.
#pragma once

#include <span>
#include <vector>

#include "core/autograd/op_node.hpp"
#include "core/dispatch/context.hpp"
#include "core/dispatch/op.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// One level at a time on the present thread. Throws RuntimeError when one is open already, or none
// is.
void enter_dual_level();
void exit_dual_level();

// A new handle on the primal's data that carries the tangent: the very tensor, or a copy of it when
// its strides are not the primal's. Throws when shapes or dtypes do not fit, or no level is open.
TensorRef make_dual(Tensor& primal, Tensor& tangent);
// The tangent at the present level; null when there is none. That of a view is the same view of its
// base's, made when it is first asked for.
Tensor* tangent_of(Tensor& tensor);
// Makes it the tensor's own tangent, in the tensor's layout.
void carry_tangent(Tensor& tensor, Tensor& tangent);
// Another handle on the tensor's data and history that carries no tangent.
TensorRef without_tangent(Tensor& tensor);

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
  const std::vector<bool>& constant;  // by result: marked as not differentiable
  FunctionContext* function;          // of a Function
  std::span<const TensorRef> saved;   // what it lets its jvp see
  OpNode* node;                       // null when it was not recorded
};
// Computes the tangents of the results and attaches them; in place where the call was in place.
void propagate_tangents(const DualCall& call);

// For a node's saved results, which stand for the results without keeping them: `copy` carries the
// tangent of `tensor` until the level ends, which breaks the cycle from the tangent's own history.
void share_tangent(Tensor& tensor, Tensor& copy);

}  // namespace tenon::core
