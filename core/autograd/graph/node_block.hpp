// The one block of memory that holds a node: the object, its edges, its outputs with their shapes,
// then the arrays that its kind adds.
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "core/autograd/graph/node.hpp"
#include "core/base/allocator.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

class NodeBlock {
 public:
  // `node_bytes`: size of the object. One output for each tensor; null: the call gave none there.
  NodeBlock(size_t node_bytes, size_t edges, std::span<const Tensor* const> outputs) noexcept
      : edges_at_(aligned(node_bytes)),
        edge_count_(edges),
        outputs_at_(edges_at_ + edges * sizeof(Edge)),
        outputs_(outputs),
        bytes_(outputs_at_ + outputs.size() * sizeof(OutputInfo)) {
    shapes_at_ = bytes_;
    for (const Tensor* output : outputs)
      bytes_ += output == nullptr ? 0 : output->view.rank * sizeof(int64_t);
  }

  // Room for an array after what is there already; its place for `array`.
  size_t add(size_t bytes) noexcept {
    const size_t at = bytes_;
    bytes_ += aligned(bytes);
    return at;
  }

  // The node, with empty edges and its outputs described.
  template <class Kind, class... Arguments>
  IntrusivePtr<Kind> make(Arguments&&... arguments) {
    memory_ = static_cast<char*>(allocate(static_cast<int64_t>(bytes_)));
    return IntrusivePtr<Kind>::take(new (memory_)
                                        Kind(*this, std::forward<Arguments>(arguments)...));
  }
  template <class Entry>
  Entry* array(size_t at) const noexcept {
    return reinterpret_cast<Entry*>(memory_ + at);
  }

  static constexpr size_t aligned(size_t bytes) { return (bytes + 7) / 8 * 8; }

 private:
  friend class Node;
  size_t edges_at_;
  size_t edge_count_;
  size_t outputs_at_;
  std::span<const Tensor* const> outputs_;
  size_t bytes_;
  size_t shapes_at_ = 0;
  char* memory_ = nullptr;
};

inline Node::Node(const NodeBlock& block)
    : Node(next_sequence(), static_cast<uint32_t>(block.bytes_)) {
  module = thread_state.module;
  edges_ = block.array<Edge>(block.edges_at_);
  edge_count_ = static_cast<uint16_t>(block.edge_count_);
  for (size_t i = 0; i < block.edge_count_; ++i) new (edges_ + i) Edge;
  outputs_ = block.array<OutputInfo>(block.outputs_at_);
  output_count_ = static_cast<uint16_t>(block.outputs_.size());
  auto* shape = block.array<int64_t>(block.shapes_at_);
  for (size_t i = 0; i < block.outputs_.size(); ++i) {
    const Tensor* const output = block.outputs_[i];
    if (output == nullptr) {
      outputs_[i] = {};
      continue;
    }
    const tenon_tensor_view& view = output->view;
    const uint8_t rank = view.rank;
    for (size_t d = 0; d < rank; ++d) shape[d] = view.shape[d];
    outputs_[i] = {shape, view.dtype, rank, dtype_differentiable(view.dtype), view.type};
    shape += rank;
  }
}

}  // namespace tenon::core
