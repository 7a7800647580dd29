// Tensors passed on as they are, whose gradients a function sees together, and may replace.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/autograd/graph/node.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// Sees and may replace the gradients, one for each tensor that was passed on.
using GradientFunction = std::function<void(std::vector<TensorRef>& gradients)>;

// Other handles of the tensors, all of which require grad: results of one node, whose backward
// calls the function with zeros where no gradient came. Changes in place of their memory are
// refused, since they would bypass the node. Throws.
std::vector<TensorRef> hook_gradients(std::span<Tensor* const> tensors, GradientFunction function);

// Whether it is a node that hook_gradients made.
bool hooks_gradients(const Node& node);

}  // namespace tenon::core
