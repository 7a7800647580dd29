// Nodes: what they all are made of, and their end.
#include "core/autograd/node.hpp"

#include <bit>
#include <memory>

#include "core/base/allocator.hpp"

namespace tenon::core {

namespace {

// Nodes whose last reference went while another was being destroyed on this thread. Without a
// destructor: tensors with static storage die after the thread's own objects.
struct DeferredDeletes {
  Node* waiting = nullptr;
  bool draining = false;
};
constinit thread_local DeferredDeletes deferred_deletes;

}  // namespace

Node::~Node() {
  if (NodeExtra* extra = extra_.load(std::memory_order_relaxed)) {
    extra->clear();
    extra->release();
  }
  std::destroy_n(edges_, edge_count_);
}

NodeExtra& Node::extra() {
  NodeExtra* present = extra_if_any();
  if (present != nullptr) return *present;
  auto* made = new NodeExtra(*this);
  if (extra_.compare_exchange_strong(present, made, std::memory_order_acq_rel)) return *made;
  made->release();
  return *present;
}

void Node::destroy_node(GraphNode* base) noexcept {
  DeferredDeletes& deletes = deferred_deletes;
  auto* node = static_cast<Node*>(base);
  if (deletes.draining) {
    node->sequence_ = reinterpret_cast<uintptr_t>(deletes.waiting);
    deletes.waiting = node;
    return;
  }
  deletes.draining = true;
  for (;;) {
    const uint32_t bytes = node->bytes_;
    node->~Node();
    core::release(node, bytes);
    node = deletes.waiting;
    if (node == nullptr) break;
    deletes.waiting = std::bit_cast<Node*>(static_cast<uintptr_t>(node->sequence_));
  }
  deletes.draining = false;
}

}  // namespace tenon::core
