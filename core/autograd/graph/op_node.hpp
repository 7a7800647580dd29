// The node of a recorded op call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "core/autograd/graph/error_node.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/node.hpp"
#include "core/autograd/graph/saved_tensor.hpp"
#include "core/dispatch/call/context.hpp"
#include "core/dispatch/table/op.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// The node of an op with a backward rule.
class OpNode final : public Node {
 public:
  // Records a call that has run. `arguments` are the bound ones; list and string arguments are
  // copied. The caller sets the edges.
  static IntrusivePtr<OpNode> create(const Implementation& implementation,
                                     const tenon_value* arguments, size_t slots,
                                     std::span<Tensor* const> results, size_t saved_capacity);
  OpNode(const NodeBlock& block, const Implementation& implementation)
      : Node(block), implementation_(&implementation) {
    hold(implementation);
  }

  const char* name() const override { return implementation_->node_name.c_str(); }
  const Implementation* implementation() const override { return implementation_; }
  void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& produced,
             const BackwardCall& call) override;
  void release_saved() override;
  void detach_saved(const Storage& storage) override;
  bool released() const override {
    return (uses_.load(std::memory_order_acquire) & kReleased) != 0;
  }
  bool runs_without_gradients() const override { return function_ != nullptr; }

  // Leads a slot that has no edge yet to where gradients of the tensor go; made in its place,
  // because every recorded call does this for each operand.
  void connect(size_t slot, Tensor& tensor) { new (edges_ + slot) Edge(gradient_edge(tensor)); }
  void set_tensor_slots(uint64_t mask) { tensor_slots_ = mask; }
  void save(SavedTensor::Kind kind, size_t index, Tensor* tensor);
  // Packs results that were saved as they are.
  void pack_results();
  void set_function(std::unique_ptr<FunctionContext> function);
  void mark_non_differentiable(size_t output) { outputs_[output].differentiable = false; }
  // Saved results carry the tangents of the results, for forward mode over backward.
  void share_tangents(std::span<Tensor** const> results);
  // Makes the gradients of a rule constants whose differentiation is an error.
  void forbid_differentiation(std::vector<TensorRef>& produced, ErrorReason reason,
                              std::span<Tensor* const> given = {});
  NodeReport report() override;

 private:
  friend class BackwardRule;
  ~OpNode() override;
  // A run of the rule under way keeps what was saved, even when the graph is released meanwhile.
  static constexpr uint32_t kReleased = 1u << 31;
  class Use;
  void copy_arguments(const tenon_value* arguments, char* memory);
  bool pack(SavedTensor& saved, Tensor& tensor, bool with_history);
  void free_saved();

  const Implementation* implementation_;
  tenon_value* arguments_ = nullptr;  // tensors read as none; lists and strings in the node's block
  SavedTensor* saved_ = nullptr;
  std::unique_ptr<FunctionContext> function_;
  uint16_t saved_count_ = 0;
  uint16_t saved_capacity_ = 0;
  uint16_t argument_count_ = 0;
  bool counted_ = false;           // among the live nodes that are tracked
  bool holds_ = false;             // tensors, which a run without retain_graph frees
  std::atomic<uint32_t> uses_{0};  // running rules, and whether the saved tensors are released
};

}  // namespace tenon::core
