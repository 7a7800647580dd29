// The node of a leaf.
#pragma once

#include <span>
#include <vector>

#include "core/autograd/graph/node.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// Adds what arrives into the .grad of a leaf. Belongs to the leaf's meta; keeps the leaf alive
// while a graph leads to it.
class Accumulator final : public Node {
 public:
  static Accumulator* create(Tensor* leaf);
  static void dispose(Accumulator* accumulator) noexcept;
  // A new reference for an edge. The caller holds one to the leaf.
  NodeRef acquire() noexcept {
    if (references.fetch_add(1, std::memory_order_acq_rel) == 0) leaf_->retain();
    return NodeRef::take(this);
  }
  const char* name() const override { return "AccumulateGrad"; }
  Tensor& leaf() { return *leaf_; }
  // The dtype or type of its leaf has changed.
  void refresh_output() {
    info_.dtype = leaf_->view.dtype;
    info_.type = leaf_->view.type;
  }
  void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& produced,
             const BackwardCall& call) override;

 private:
  explicit Accumulator(Tensor* leaf);
  ~Accumulator() override = default;
  static void release_leaf(GraphNode* node) noexcept;
  Tensor* leaf_;
  OutputInfo info_;
};

}  // namespace tenon::core
