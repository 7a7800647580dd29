// The engine: takes gradients from roots back through the graph, iteratively.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tenon::core {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
  bool traced = false;  // as BackwardCall::traced
};

// Accumulates into the .grad of leaves: of all that are reached, or of `inputs` alone when given.
// Seeds may be empty, or null where the root has one element. Concurrent and nested calls are safe.
// The order of things at a tensor: its hooks, its retained gradient, its capture for `inputs`,
// then the node: hooks before, the rule, hooks after. Leaves are added to when all rules
// have run, so that an error leaves every .grad as it was; a leaf with post-accumulate hooks at
// once. Throws.
void run_backward(std::span<Tensor* const> roots, std::span<Tensor* const> seeds,
                  const std::span<Tensor* const>* inputs, BackwardOptions options);

class Node;

// Treatment of an input that the roots do not depend on.
enum class Unused { Refused, Null, Zeros };

// One gradient for each input. Never touches .grad. Throws.
std::vector<TensorRef> run_gradients(std::span<Tensor* const> roots, std::span<Tensor* const> seeds,
                                     std::span<Tensor* const> inputs, BackwardOptions options,
                                     Unused unused);

// A backward under way, as hooks may ask of it.
class EngineRun {
 public:
  // A number that no other run of the process has.
  virtual int64_t id() = 0;
  // Whether it goes through the node.
  virtual bool reaches(const Node& node) = 0;
  // Keeps tensors of one node for another, by a key that no others use; freed with the run.
  virtual void keep(const void* key, std::vector<TensorRef> tensors) = 0;
  // None when nothing was kept by the key, or it was taken already.
  virtual std::optional<std::vector<TensorRef>> take(const void* key) = 0;
  // The node whose rule or hooks run at the moment, if any.
  virtual const Node* running() = 0;

 protected:
  ~EngineRun() = default;
};

}  // namespace tenon::core
