// Checks of the gradients that a rule returns.
#pragma once

#include <cstddef>
#include <span>

#include "core/autograd/graph/node.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// The number and kinds of gradients that a rule returned, against the arguments of its call.
// Throws.
void check_gradients(Node& node, std::span<const TensorRef> produced);
// Makes a gradient fit the input that it is for: sums what was broadcast, casts what was promoted.
// Makes it what the input's tensor type says. Throws.
TensorRef fit_gradient(TensorRef gradient, const OutputInfo& info, const Node& from, size_t index);

}  // namespace tenon::core
