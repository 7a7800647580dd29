// requires_grad and .grad of a tensor, and the sums of gradients.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tenon::core {

void set_requires_grad(Tensor& tensor, bool requires_grad);
TensorRef grad_of(Tensor& tensor);
void set_grad(Tensor& tensor, Tensor* grad);
// Gives the tensor another value, of another dtype for example, and its gradient with it. It keeps
// requires_grad, hooks and handles, and becomes a leaf.
void replace_value(Tensor& tensor, const Tensor& value, Tensor* grad);
void retain_grad(Tensor& tensor);

// Adds a gradient to the tensor's .grad, also while other threads add to it.
void accumulate_grad(Tensor& tensor, Tensor* gradient, bool create_graph);

// Adds two gradients: by the table's `add`, or in place when `into` belongs to the caller alone.
TensorRef add_gradients(TensorRef&& into, Tensor* more, bool create_graph);

}  // namespace tenon::core
