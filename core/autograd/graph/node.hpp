// The node of a graph: edges to the nodes that made its inputs, and a rule for the gradients.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/autograd/hooks/hooks.hpp"
#include "core/base/intrusive_ptr.hpp"
#include "core/dispatch/table/op.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

class Node;
class NodeBlock;
using NodeRef = IntrusivePtr<Node>;

// Leads to output `output` of `node`, and owns a reference to it; null where no gradient flows.
struct Edge {
  NodeRef node;
  uint32_t output = 0;
};

// An output of a node: enough to check gradients and to make zeros.
struct OutputInfo {
  const int64_t* shape = nullptr;
  tenon_dtype dtype = TENON_DTYPE_NONE;  // NONE: the call gave no tensor here
  uint8_t rank = 0;
  bool differentiable = false;
  uint32_t type = 0;  // its tensor type, which may say what its gradients are

  Shape sizes() const { return {shape, rank}; }
};

// A node's memory, for reports.
struct NodeReport {
  uint32_t saved_tensors = 0;
  int64_t saved_bytes = 0;
  uint32_t stashed_tensors = 0;  // on the context's attributes
  int64_t attribute_bytes = 0;   // tensors included
};

class EngineRun;
// How a node is run.
struct BackwardCall {
  bool create_graph = false;
  bool retain_graph = false;
  bool traced = false;       // gradients count as requiring gradients, though they do not
  Tensor** owned = nullptr;  // the gradients once more, where a node may take them, leaving null
  EngineRun* run = nullptr;  // whose gradients are asked for; null: all of them
  // Set where the change of a view is run for its base: the edge that leads to the base's history
  // now.
  size_t rebased_slot = SIZE_MAX;
  const Node* rebased = nullptr;
};

// Numbers nodes in the order of recording, for the engine's order.
inline constinit std::atomic<uint64_t> sequence_counter{1};
inline uint64_t next_sequence() { return sequence_counter.fetch_add(1, std::memory_order_relaxed); }
inline constexpr uint64_t kAccumulatorSequence = ~uint64_t{0};

// Made by a NodeBlock. Released iteratively, so that graphs of any depth fit any stack.
class Node : public GraphNode {
 public:
  virtual const char* name() const = 0;
  // The op whose call it records, null for nodes of the engine itself.
  virtual const Implementation* implementation() const { return nullptr; }
  // Whether it is run when no gradient at all has come: Functions are, and may be handed zeros.
  virtual bool runs_without_gradients() const { return false; }
  // Turns the gradients of the outputs (null: none) into those of the edges. `produced` is empty at
  // entry. Throws.
  virtual void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& produced,
                     const BackwardCall& call) = 0;
  // Frees what was saved; a later apply throws GraphError.
  virtual void release_saved() {}
  virtual bool released() const { return false; }
  // Drops the histories of tensors saved in this memory, which has changed since: a rule refuses
  // them, so they need no history, and the caller's handle may get one that leads back to the node.
  virtual void detach_saved(const Storage&) {}
  virtual NodeReport report() { return {}; }

  std::span<Edge> edges() { return {edges_, edge_count_}; }
  std::span<OutputInfo> outputs() { return {outputs_, output_count_}; }
  uint64_t sequence() const { return sequence_; }
  // Made when missing. Any thread.
  NodeExtra& extra() { return extra_.make(*this); }
  NodeExtra* extra_if_any() const { return extra_.get(); }
  // Whether a gradient may arrive at slot `i` at all: false for arguments that are not tensors.
  bool slot_holds_tensor(size_t i) const { return i >= 64 || (tensor_slots_ >> i & 1u) != 0; }

  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

 protected:
  explicit Node(const NodeBlock& block);
  // Without edges and outputs.
  Node(uint64_t sequence, uint32_t bytes) : sequence_(sequence), bytes_(bytes) {
    destroy = destroy_node;
  }
  virtual ~Node();
  static void destroy_node(GraphNode* node) noexcept;

  uint64_t sequence_;  // in a dead node: the next dead one
  uint64_t tensor_slots_ = ~uint64_t{0};
  Edge* edges_ = nullptr;  // in the node's block, as the outputs are
  OutputInfo* outputs_ = nullptr;
  HooksPointer<NodeExtra> extra_;
  uint32_t bytes_;
  uint16_t edge_count_ = 0;
  uint16_t output_count_ = 0;
};

}  // namespace tenon::core
