// Tensors' place in the graph: leaves and their accumulators, histories, views of changed bases.
#pragma once

#include <memory>
#include <mutex>

#include "core/autograd/node.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// Adds what arrives into the .grad of a leaf. At most one alive for each leaf; keeps the leaf alive.
class Accumulator final : public Node {
 public:
  static Accumulator* create(Tensor* leaf);
  const char* name() const override { return "AccumulateGrad"; }
  void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& answer, bool create_graph) override;
  Tensor* leaf() const { return leaf_.get(); }

 private:
  Accumulator(Tensor* leaf, uint32_t bytes);
  ~Accumulator() override;
  TensorRef leaf_;
  std::mutex mutex_;
  OutputInfo info_;
};

// The rarer autograd state of a tensor.
struct TensorMeta final : AutogradMeta {
  std::mutex mutex;                        // guards accumulator and grad
  Accumulator* accumulator = nullptr;      // not owned: the accumulator clears it
  TensorRef grad;                          // of a leaf
  std::shared_ptr<RetainedGrad> retained;  // of a computed tensor that asked
  TensorRef tangent;                       // forward mode
  uint64_t tangent_level = 0;
};

// The tensor's meta, made when missing. [this tensor's owner]
TensorMeta& meta_of(Tensor& tensor);
inline TensorMeta* meta_if_any(const Tensor& tensor) { return static_cast<TensorMeta*>(tensor.meta); }

// Where gradients of the tensor go, with a reference to the node for the caller; {} when it requires none.
// Refreshes the history of a view whose base was changed in place.
Edge gradient_edge(Tensor& tensor);
// Makes the tensor output `output` of `node` (which gets a reference).
void set_history(Tensor& tensor, Node* node, uint32_t output);
// After `node` recorded an in-place change of the tensor: its history, and its base's, go through `node`.
// `slot` is the edge of `node` that the tensor's old history hangs on.
void rebase_history(Tensor& tensor, OpNode* node, uint32_t output, size_t slot);

inline bool is_leaf(const Tensor& tensor) { return tensor.node == nullptr; }

// Throws InplaceError when an in-place change of the tensor must not be recorded: leaves that require grad,
// and views of them.
void check_inplace(const Tensor& tensor, const char* op);

// ---- what the boundary offers ----
void set_requires_grad(Tensor& tensor, bool requires_grad);
TensorRef grad_of(Tensor& tensor);
void set_grad(Tensor& tensor, Tensor* grad);
void retain_grad(Tensor& tensor);

// Adds two gradients: by the table's `add`, or in place when `into` belongs to the caller alone.
TensorRef add_gradients(TensorRef into, Tensor* more, bool create_graph);

}  // namespace tenon::core
