// Histories across views and changes in place.
#include "core/autograd/history.hpp"

#include <mutex>
#include <utility>

#include "core/autograd/accumulator.hpp"
#include "core/autograd/anomaly.hpp"
#include "core/autograd/inplace.hpp"
#include "core/autograd/op_node.hpp"
#include "core/autograd/tensor_meta.hpp"
#include "core/autograd/view_node.hpp"
#include "core/base/error.hpp"
#include "core/dispatch/thread_state.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

Edge accumulator_edge(Tensor& leaf) {
  TensorMeta& meta = meta_of(leaf);
  Accumulator* present = meta.accumulator.load(std::memory_order_acquire);
  if (present == nullptr) {
    Accumulator* made = Accumulator::create(&leaf);
    if (meta.accumulator.compare_exchange_strong(present, made, std::memory_order_acq_rel))
      present = made;
    else
      Accumulator::dispose(made);
  }
  return {present->acquire(), 0};
}

[[noreturn, gnu::cold]] void fail_leaf_view() {
  throw Error(TENON_ERROR_INPLACE,
              "a leaf tensor that requires grad is a view, and its base, or another view of its "
              "base, was modified inplace by an operation that is recorded: the leaf's value is "
              "computed now. Run the operation under no_grad, or make the leaf a clone");
}

}  // namespace

void refresh_stale(Tensor& tensor) {
  if (!tensor.older_than_base()) return;
  Tensor& base = *tensor.view_base;
  // Readers of one view may be the first to notice, all at once.
  static std::mutex refreshing;
  NodeRef old;  // its reference ends after the lock
  const std::lock_guard lock(refreshing);
  if (!tensor.older_than_base()) return;
  if (!dtype_floating(tensor.view.dtype)) return;
  if (tensor.node == nullptr && tensor.requires_grad()) fail_leaf_view();
  if (tensor.view_origin != ViewOrigin::recorded)
    fail_unrecorded_view(tensor, "its base, or another view of its base, was modified inplace");
  check_function_view(tensor);
  require_place(tensor, base);
  old = NodeRef(static_cast<Node*>(tensor.node));
  set_history(tensor, {make_view_node(tensor, base), 0});
}

void set_history(Tensor& tensor, Edge history) {
  if (TensorMeta* meta = meta_if_any(tensor); meta != nullptr && meta->retained) [[unlikely]] {
    // What retains its gradient goes on doing so for its new value.
    static_cast<Node*>(tensor.node)->extra().forget(meta->retained);
    history.node->extra().retain_into(history.output, meta->retained);
  }
  const NodeRef old = NodeRef::take(static_cast<Node*>(tensor.node));
  tensor.node = history.node.give();
  tensor.node_output = history.output;
  if (tensor.view_origin != ViewOrigin::recorded) tensor.view_origin = ViewOrigin::recorded;
  if (!tensor.requires_grad()) {
    __atomic_store_n(&tensor.view.flags, tensor.view.flags | TENON_TENSOR_REQUIRES_GRAD,
                     __ATOMIC_RELAXED);
  }
  __atomic_store_n(&tensor.view_version, tensor.version(), __ATOMIC_RELEASE);
}

Edge gradient_edge(Tensor& tensor) {
  if (tensor.node != nullptr) return {NodeRef(static_cast<Node*>(tensor.node)), tensor.node_output};
  if (!tensor.requires_grad()) return {};
  return accumulator_edge(tensor);
}

void rebase_history(Tensor& tensor, IntrusivePtr<OpNode> node, uint32_t output, size_t slot) {
  if (tensor.view_base == nullptr || !dtype_floating(tensor.view.dtype)) {
    set_history(tensor, {std::move(node), output});
    return;
  }
  Tensor& base = *tensor.view_base;
  require_place(tensor, base);
  const NodeRef through = make_copy_slices_node({std::move(node), output, slot}, tensor, base);
  if (thread_state.anomaly != 0) remember_origin(*through);
  set_history(base, {through, 0});
  set_history(tensor, {make_view_node(tensor, base), 0});
}

}  // namespace tenon::core
