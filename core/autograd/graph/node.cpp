// Nodes: what they all are made of, and their end.
#include "core/autograd/graph/node.hpp"

#include <memory>

#include "core/base/allocator.hpp"
#include "core/base/deferred_deletes.hpp"

namespace tenon::core {

namespace {

constinit thread_local DeferredDeletes<Node> deferred_deletes;

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
  deferred_deletes.destroy(
      static_cast<Node*>(base), [](Node& node) -> uint64_t& { return node.sequence_; },
      [](Node* node) {
        const uint32_t bytes = node->bytes_;
        node->~Node();
        core::release(node, bytes);
      });
}

}  // namespace tenon::core
