// Tensors' place in the graph: leaves and their accumulators, histories, views of changed bases.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/autograd/component_history.hpp"
#include "core/autograd/node.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// Adds what arrives into the .grad of a leaf. Belongs to the leaf's meta; keeps the leaf alive
// while a graph leads to it.
class Accumulator final : public Node {
 public:
  static Accumulator* create(Tensor* leaf);
  static void dispose(Accumulator* accumulator) noexcept;
  // A new reference for an edge. The caller holds one to the leaf.
  Accumulator* acquire() noexcept {
    if (references.fetch_add(1, std::memory_order_acq_rel) == 0) leaf_->retain();
    return this;
  }
  const char* name() const override { return "AccumulateGrad"; }
  Tensor& leaf() { return *leaf_; }
  // The dtype or type of its leaf has changed.
  void renew() {
    info_.dtype = leaf_->view.dtype;
    info_.type = leaf_->view.type;
  }
  void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& answer,
             BackwardCall call) override;

 private:
  explicit Accumulator(Tensor* leaf);
  ~Accumulator() override = default;
  static void let_go(GraphNode* node) noexcept;
  Tensor* leaf_;
  OutputInfo info_;
};

struct TensorMeta;
// The tensors whose tangents go when their dual level ends.
struct SharedTangents : std::enable_shared_from_this<SharedTangents> {
  std::mutex mutex;
  std::unordered_set<TensorMeta*> holders;
};

// The rarer autograd state of a tensor.
struct TensorMeta final : AutogradMeta {
  ~TensorMeta() override {
    Accumulator::dispose(accumulator.load(std::memory_order_relaxed));
    if (!shared_tangents) return;
    const std::lock_guard lock(shared_tangents->mutex);
    shared_tangents->holders.erase(this);
  }
  std::atomic<Accumulator*> accumulator{nullptr};  // owned
  std::mutex adding;                               // held while a gradient is added
  std::mutex mutex;                                // guards grad
  TensorRef grad;                                  // of a leaf
  std::shared_ptr<RetainedGrad> retained;          // of a computed tensor that asked
  std::vector<HookHandle> hooks;                   // registered on it, for removal by id
  TensorRef tangent;                               // forward mode
  uint64_t tangent_level = 0;
  std::shared_ptr<SharedTangents> shared_tangents;  // where this is listed
};

// The tensor's meta, made when missing. [this tensor's owner]
TensorMeta& meta_of(Tensor& tensor);
inline TensorMeta* meta_if_any(const Tensor& tensor) {
  return static_cast<TensorMeta*>(tensor.meta);
}

// A view whose base was changed in place gets a history that reads it out of the base again. Due
// before a call reads or changes the tensor, and before its gradient is asked for. Throws where
// that history would not be the view's own: of views made in no_grad, leaves, views of Functions.
void refresh_stale(Tensor& tensor);
inline void refresh_history(Tensor& tensor) {
  if (tensor.view_base != nullptr) refresh_stale(tensor);
  if (tensor.typed()) refresh_components(tensor);
}
// Where gradients of the tensor go, with a reference to the node for the caller; {} when it
// requires none.
Edge gradient_edge(Tensor& tensor);
// Makes the tensor output `output` of `node` (which gets a reference).
void set_history(Tensor& tensor, Node* node, uint32_t output);
// After `node` recorded an in-place change of the tensor: its history, and its base's, go through
// `node`. `slot` is the edge of `node` that the tensor's old history hangs on.
void rebase_history(Tensor& tensor, OpNode* node, uint32_t output, size_t slot);

// After a change in place of memory that nodes have saved: those among them to which the new
// history of `node` leads keep no handle that may lead back to them. `old`: nodes of the history
// before the change, behind which none is.
void break_saved_cycles(const Storage& storage, Node& node, std::span<Node* const> old);

inline bool is_leaf(const Tensor& tensor) { return tensor.node == nullptr; }

// Throws when an in-place change of the tensor cannot be recorded: leaves that require grad, views
// of them, views made where nothing was recorded, and views of bases that are not dense.
void check_inplace(Tensor& tensor, const char* op);

// Whether a change of the tensor in place changes what requires grad.
inline bool has_history(const Tensor& tensor) {
  return tensor.requires_grad() ||
         (tensor.view_base != nullptr && tensor.view_base->requires_grad());
}
// Throws when two elements of the tensor may be one in memory: a change of it has no derivative
// that its elements tell.
void require_disjoint(const Tensor& tensor, const char* op);

// ---- what the boundary offers ----
void set_requires_grad(Tensor& tensor, bool requires_grad);
TensorRef grad_of(Tensor& tensor);
void set_grad(Tensor& tensor, Tensor* grad);
// Gives the tensor another value, of another dtype for example, and its gradient with it. It keeps
// requires_grad, hooks and handles, and becomes a leaf.
void replace_value(Tensor& tensor, const Tensor& value, Tensor* grad);
void retain_grad(Tensor& tensor);

// Adds a gradient to the tensor's .grad, whoever else is adding at the moment.
void accumulate_grad(Tensor& tensor, Tensor* gradient, bool create_graph);

// Adds two gradients: by the table's `add`, or in place when `into` belongs to the caller alone.
TensorRef add_gradients(TensorRef into, Tensor* more, bool create_graph);

}  // namespace tenon::core
