// Histories across views and changes in place.
#include "core/autograd/graph/history.hpp"

#include <atomic>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/autograd/engine/anomaly.hpp"
#include "core/autograd/graph/accumulator.hpp"
#include "core/autograd/graph/op_node.hpp"
#include "core/autograd/graph/tensor_meta.hpp"
#include "core/autograd/record/inplace.hpp"
#include "core/base/error.hpp"
#include "core/base/fork.hpp"
#include "core/base/log.hpp"
#include "core/dispatch/call/thread_state.hpp"
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
  static const HeldAcrossFork held(refreshing);
  NodeRef old;  // its reference ends after the lock
  const std::lock_guard lock(refreshing);
  if (!tensor.older_than_base()) return;
  if (!dtype_differentiable(tensor.view.dtype)) return;
  if (tensor.node == nullptr && tensor.requires_grad()) fail_leaf_view();
  if (tensor.view_origin != ViewOrigin::recorded)
    fail_unrecorded_view(tensor, "its base, or another view of its base, was modified inplace");
  check_function_view(tensor, Changed::base);
  require_place(tensor, base);
  old = NodeRef(static_cast<Node*>(tensor.node));
  set_history(tensor, {make_view_node(tensor, base), 0});
}

void set_history(Tensor& tensor, Edge history) {
  if (TensorMeta* meta = meta_if_any(tensor); meta != nullptr && meta->retained) [[unlikely]] {
    // A tensor that retains its gradient does so for its new value, too.
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
  if (tensor.view_base == nullptr || !dtype_differentiable(tensor.view.dtype)) {
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

void break_saved_cycles(const Storage& storage, Node& node, std::span<const NodeRef> old) {
  constexpr size_t kMost = 10'000;  // a change in place is not worth a longer search
  std::unordered_set<Node*> seen;
  for (const NodeRef& before : old) seen.insert(before.get());
  std::vector<Node*> waiting{&node};
  while (!waiting.empty()) {
    Node* next = waiting.back();
    waiting.pop_back();
    if (next != &node) next->detach_saved(storage);
    for (const Edge& edge : next->edges()) {
      if (edge.node && seen.insert(edge.node.get()).second) waiting.push_back(edge.node.get());
    }
    if (seen.size() <= kMost) continue;
    static std::atomic<bool> warned{false};
    if (warned.exchange(true, std::memory_order_relaxed)) return;
    log(LogLevel::warning, "",
        "a tensor that was saved for backward is changed in place at the end of a long graph, "
        "which may leave a reference cycle that keeps the graph alive: clone the tensor before "
        "the change, or make it under no_grad. Reported once");
    return;
  }
}

}  // namespace tenon::core
