// Accumulators: made for a leaf, kept by it, disposed of with it.
#include "core/autograd/graph/accumulator.hpp"

#include "core/autograd/engine/grad.hpp"
#include "core/base/allocator.hpp"

namespace tenon::core {

Accumulator::Accumulator(Tensor* leaf)
    : Node(kAccumulatorSequence, sizeof(Accumulator)), leaf_(leaf) {
  info_ = {leaf->view.shape, leaf->view.dtype, leaf->view.rank, true, leaf->view.type};
  outputs_ = &info_;
  output_count_ = 1;
  references.store(0, std::memory_order_relaxed);
  destroy = release_leaf;
}

Accumulator* Accumulator::create(Tensor* leaf) {
  return new (allocate(sizeof(Accumulator))) Accumulator(leaf);
}

void Accumulator::dispose(Accumulator* accumulator) noexcept {
  if (accumulator == nullptr) return;
  accumulator->~Accumulator();
  core::release(accumulator, sizeof(Accumulator));
}

// The last edge has gone: the accumulator stays with its leaf, which it no longer holds.
void Accumulator::release_leaf(GraphNode* node) noexcept {
  static_cast<Accumulator*>(node)->leaf_->release();
}

void Accumulator::apply(std::span<Tensor* const> gradients, std::vector<TensorRef>&,
                        const BackwardCall& call) {
  if (gradients[0] != nullptr) accumulate_grad(*leaf_, gradients[0], call.create_graph);
}

}  // namespace tenon::core
