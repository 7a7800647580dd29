// The engine: takes gradients from roots back through the graph, iteratively.
#pragma once

#include <span>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tenon::core {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
};

// Accumulates into the .grad of leaves: of all that are reached, or of `inputs` alone when given.
// Seeds may be empty, or null where the root has one element. Concurrent and nested calls are safe.
// Throws.
void run_backward(std::span<Tensor* const> roots, std::span<Tensor* const> seeds,
                  const std::span<Tensor* const>* inputs, BackwardOptions options);

// One gradient for each input, null where it is unused and that is allowed. Never touches .grad.
// Throws.
std::vector<TensorRef> run_gradients(std::span<Tensor* const> roots, std::span<Tensor* const> seeds,
                                     std::span<Tensor* const> inputs, BackwardOptions options,
                                     bool allow_unused);

}  // namespace tenon::core
