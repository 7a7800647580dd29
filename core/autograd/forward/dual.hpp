// Forward mode: levels, and tensors that carry a tangent while one is open.
#pragma once

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
