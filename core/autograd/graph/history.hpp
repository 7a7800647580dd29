// Tensors' place in the graph, across views and changes in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/autograd/graph/node.hpp"
#include "core/autograd/typed/component_history.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

class OpNode;

// A view whose base was changed in place gets a history that reads it out of the base again. Due
// before a call reads or changes the tensor, and before its gradient is read. Throws where
// that history would not be the view's own: of views made in no_grad, leaves, views of Functions.
void refresh_stale(Tensor& tensor);
inline void refresh_history(Tensor& tensor) {
  if (tensor.view_base != nullptr) refresh_stale(tensor);
  if (tensor.typed()) refresh_components(tensor);
}
// The edge that gradients of the tensor take; {} when it requires none.
Edge gradient_edge(Tensor& tensor);
// Makes the tensor that output of that node.
void set_history(Tensor& tensor, Edge history);
// After `node` recorded an in-place change of the tensor: its history, and its base's, go through
// `node`. `slot` is the edge of `node` that the tensor's old history hangs on.
void rebase_history(Tensor& tensor, IntrusivePtr<OpNode> node, uint32_t output, size_t slot);

// After a change in place of memory that nodes have saved: those among them to which the new
// history of `node` leads keep no handle that may lead back to them. `old`: nodes of the history
// before the change, after which none is; null entries are allowed.
void break_saved_cycles(const Storage& storage, Node& node, std::span<const NodeRef> old);

inline bool is_leaf(const Tensor& tensor) { return tensor.node == nullptr; }

// ---- histories of views and their bases ----

// A recorded change of a view: the node's result `output`, which it got by its edge `slot`.
struct ViewChange {
  IntrusivePtr<OpNode> node;
  uint32_t output;
  size_t slot;
};

// Reads the view out of its base again, whose history is the present one.
NodeRef make_view_node(const Tensor& view, Tensor& base);
// The base's history after the change of the view: the gradient of the viewed part goes through the
// change, the rest passes by.
NodeRef make_copy_slices_node(ViewChange change, const Tensor& view, Tensor& base);

}  // namespace tenon::core
