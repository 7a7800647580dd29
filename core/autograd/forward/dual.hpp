// Forward mode: levels, and tensors that carry a tangent at each while it is open.
#pragma once

#include "core/autograd/graph/tensor_meta.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// Opens a level inside of the present one, or ends the present one. A tangent belongs to one level,
// and may carry tangents of the levels around it. Throws RuntimeError when there is none to end.
void enter_dual_level();
void exit_dual_level();

// Runs the body at each level that the thread sees, the outermost first: with that level as the
// present one, so that its ops carry the tangents of the levels around it alone.
template <class Body>
void at_each_level(DualLevel* innermost, Body&& body) {
  if (innermost == nullptr) return;
  at_each_level(innermost->outer.get(), body);
  const SwitchGuard<&ThreadState::dual_level> present(innermost);
  body();
}
template <class Body>
void at_each_level(Body&& body) {
  at_each_level(thread_state.dual_level, body);
}

// A new handle on the primal's data that carries the tangent: the very tensor, or a copy of it when
// its strides are not the primal's. Throws when shapes or dtypes do not fit, or no level is open.
TensorRef make_dual(Tensor& primal, Tensor& tangent);
// The tangent at the present level; null when there is none. That of a view is the same view of its
// base's, made when it is first asked for.
Tensor* tangent_of(Tensor& tensor);
// Makes it the tensor's own tangent, in the tensor's layout.
void carry_tangent(Tensor& tensor, Tensor& tangent);
// Another handle on the tensor's data and history that carries no tangent but those of the levels
// around the present one.
TensorRef without_tangent(Tensor& tensor);

// Another handle on the data that carries the tangents of a level and those around it alone.
TensorRef without_history(Tensor& tensor, DualLevel* innermost);

// For a node's saved results, which stand for the results without keeping them: `copy` carries the
// tangent of `tensor` until the level ends, which breaks the cycle from the tangent's own history.
void share_tangent(Tensor& tensor, Tensor& copy);

// A tangent has the strides of its primal and shares memory with other tangents exactly where the
// primals do. So a change in place can be made in place of the tangent as well, and every view sees
// it.
bool same_layout(const Tensor& a, const Tensor& b);
// The tangent of the present level that the tensor has itself; null when there is none.
Tensor* attached_tangent(const Tensor& tensor);
void attach_tangent(Tensor& tensor, TensorRef tangent);
TensorRef zeros_in_layout(const Tensor& tensor);
TensorRef copy_in_layout(Tensor& tensor, const Tensor& like);

}  // namespace tenon::core
