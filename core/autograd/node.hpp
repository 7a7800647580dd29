// Graph nodes: one for each recorded call, with edges to the nodes that made its inputs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/autograd/hooks.hpp"
#include "core/dispatch/context.hpp"
#include "core/dispatch/op.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

class Node;
class Error;
// What a history that refuses says.
using ErrorReason = Error (*)(const Implementation& implementation, uint32_t detail);

// Where a gradient flows on: output `output` of `node`. The holder owns a reference to the node.
struct Edge {
  Node* node = nullptr;
  uint32_t output = 0;
};

// What a node knows of one of its outputs: enough to check gradients and to make zeros.
struct OutputInfo {
  const int64_t* shape = nullptr;
  tenon_dtype dtype = TENON_DTYPE_NONE;  // NONE: the call gave no tensor here
  uint8_t rank = 0;
  bool differentiable = false;
  uint32_t type = 0;  // its tensor type, which may say what its gradients are
};

// What a report says of a node's memory.
struct NodeReport {
  uint32_t saved_tensors = 0;
  int64_t saved_bytes = 0;
  uint32_t stashed_tensors = 0;  // on the context's attributes
  int64_t attribute_bytes = 0;   // those tensors included
};

class EngineRun;
// How a node is run.
struct BackwardCall {
  bool create_graph = false;
  bool retain_graph = false;
  Tensor** owned = nullptr;  // the gradients once more, where a node may take them, leaving null
  EngineRun* run = nullptr;  // whose gradients are asked for; null: all of them
  // Where the change of a view is run for its base: the edge that leads to the base's history now.
  size_t rebased_slot = SIZE_MAX;
  const Node* rebased = nullptr;
};

// One block of memory: the object, then edges, outputs and what the kind of node adds. Released
// iteratively, so that graphs of any depth fit any stack.
class Node : public GraphNode {
 public:
  virtual const char* name() const = 0;
  // The op whose call it records, null for nodes of the engine itself.
  virtual const Implementation* implementation() const { return nullptr; }
  // Whether it is run when no gradient at all has come: Functions are, and may be handed zeros.
  virtual bool runs_without_gradients() const { return false; }
  // Turns the gradients of the outputs (null: none) into those of the edges. `answer` is empty at
  // entry. Throws.
  virtual void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& answer,
                     BackwardCall call) = 0;
  // Frees what was saved; a later apply throws GraphError.
  virtual void release_saved() {}
  virtual bool released() const { return false; }
  // What was saved in this memory, which has changed since: a rule refuses it, so it needs no
  // history, and the caller's handle may get one that leads back to the node.
  virtual void detach_saved(const Storage&) {}
  virtual NodeReport report() { return {}; }

  std::span<Edge> edges() { return {edges_, edge_count_}; }
  std::span<OutputInfo> outputs() { return {outputs_, output_count_}; }
  uint64_t sequence() const { return sequence_; }
  // Made when missing. Any thread.
  NodeExtra& extra();
  NodeExtra* extra_if_any() const { return extra_.load(std::memory_order_acquire); }
  // Whether a gradient may arrive at slot `i` at all: false for arguments that are no tensors.
  bool slot_holds_tensor(size_t i) const { return i >= 64 || (tensor_slots_ >> i & 1u) != 0; }

  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

 protected:
  Node(uint64_t sequence, uint32_t bytes) : sequence_(sequence), bytes_(bytes) {
    destroy = destroy_node;
  }
  virtual ~Node();
  static void destroy_node(GraphNode* node) noexcept;

  uint64_t sequence_;  // of a dead node: where the next dead one is
  uint64_t tensor_slots_ = ~uint64_t{0};
  Edge* edges_ = nullptr;
  OutputInfo* outputs_ = nullptr;
  std::atomic<NodeExtra*> extra_{nullptr};  // owned
  uint32_t bytes_;
  uint16_t edge_count_ = 0;
  uint16_t output_count_ = 0;
};

// Numbers nodes in the order of recording, for the engine's order.
uint64_t next_sequence();
inline constexpr uint64_t kAccumulatorSequence = ~uint64_t{0};

struct PackedTensor;

// A tensor kept by a node, with the version that it must still have.
struct SavedTensor {
  union {
    Tensor* tensor = nullptr;  // owned
    PackedTensor* packed;      // owned; when a scope of saved-tensor hooks was open
  };
  uint32_t version = 0;
  uint16_t index = 0;  // parameter or result
  enum class Kind : uint8_t {
    Argument,
    ShapeOnly,
    Result,
    Listed,
    ListedOwnResult,
    ListedIntermediate  // neither input nor output of its Function: its own gradient is not known
  } kind = Kind::Argument;
  enum : uint8_t { kPresent = 1, kPacked = 2 };
  uint8_t state = 0;

  bool packs() const { return (state & kPacked) != 0; }
  bool listed() const { return kind >= Kind::Listed; }
};

[[noreturn, gnu::cold]] void fail_inference_saved();

// The number and kinds of gradients that a rule returned, against the arguments of its call.
// Throws.
void check_answer(Node& node, std::span<const TensorRef> answer);
// Makes a gradient fit the input that it is for: sums what was broadcast, casts what was promoted.
// Makes it what the input's tensor type says. Throws.
TensorRef fit_gradient(TensorRef gradient, const OutputInfo& info, const Node& from, size_t index);

// The node of an op with a backward rule.
class OpNode final : public Node {
 public:
  // Records a call that has run. `arguments` are the bound ones; list and string arguments are
  // copied. Edges and outputs are the caller's to fill. Owned by the caller.
  static OpNode* create(const Implementation& implementation, const tenon_value* arguments,
                        size_t slots, std::span<Tensor* const> results, size_t saved_capacity);

  const char* name() const override { return implementation_->node_name.c_str(); }
  const Implementation* implementation() const override { return implementation_; }
  void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& answer,
             BackwardCall call) override;
  void release_saved() override;
  void detach_saved(const Storage& storage) override;
  bool released() const override {
    return (uses_.load(std::memory_order_acquire) & kReleased) != 0;
  }
  bool runs_without_gradients() const override { return notes_ != nullptr; }

  void set_edge(size_t slot, Edge edge) { edges_[slot] = edge; }
  void set_tensor_slots(uint64_t mask) { tensor_slots_ = mask; }
  void save(SavedTensor::Kind kind, size_t index, Tensor* tensor);
  void set_notes(std::unique_ptr<FunctionNotes> notes);
  void mark_non_differentiable(size_t output) { outputs_[output].differentiable = false; }
  // Saved results carry the tangents of the results, for forward mode over backward.
  void share_tangents(std::span<Tensor** const> results);
  // What a rule of the call answered is a constant, and whoever differentiates it meets an error.
  void forbid_differentiation(std::vector<TensorRef>& answer, ErrorReason reason,
                              std::span<Tensor* const> given = {});
  NodeReport report() override;

 private:
  friend class BackwardRule;
  OpNode(const Implementation& implementation, uint32_t bytes)
      : Node(next_sequence(), bytes), implementation_(&implementation) {}
  ~OpNode() override;
  // A run of the rule under way keeps what was saved, even when the graph is released meanwhile.
  static constexpr uint32_t kReleased = 1u << 31;
  class Use;
  bool pack(SavedTensor& saved, Tensor& tensor, bool with_history);
  void free_saved();

  const Implementation* implementation_;
  tenon_value* arguments_ = nullptr;  // tensors read as none; lists and strings in the node's block
  SavedTensor* saved_ = nullptr;
  std::unique_ptr<FunctionNotes> notes_;
  uint16_t saved_count_ = 0;
  uint16_t saved_capacity_ = 0;
  uint16_t argument_count_ = 0;
  bool counted_ = false;           // among the live nodes that are tracked
  bool holds_ = false;             // tensors, which a run without retain_graph frees
  std::atomic<uint32_t> uses_{0};  // running rules, and whether the saved tensors are released
};

}  // namespace tenon::core
