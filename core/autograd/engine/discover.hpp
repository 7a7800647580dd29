// The part of its graph that a run goes through. Private to the engine.
#pragma once

#include <vector>

#include "core/autograd/engine/visit_map.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// An output that gradients are taken of, with the gradient that it begins with.
struct GradientRoot {
  Node* node;
  uint32_t output;
  TensorRef seed;
};

struct RunGraph {
  bool all_needed;  // all leaves accumulate
  RunVector<GradientRoot> roots;
  std::vector<Node*> captured{};  // whose gradients are kept for the caller
  Visits visits{};
  VisitMap map{};
  RunVector<Tensor*> gradients{};  // arrived so far, by Visit::gradients; owned

  // Visits each node that the roots lead to once: gives it a place in `gradients`, counts the edges
  // that gradients arrive by, and marks it needed where it leads to one of `captured`.
  void discover();
};

}  // namespace tenon::core
