// Nodes: what they all are made of, and their end.
#include "core/autograd/graph/node.hpp"

#include <memory>

#include "core/base/allocator.hpp"
#include "core/base/deferred_deletes.hpp"

namespace tenon::core {

namespace {

constinit thread_local DeferredDeletes<Node> deferred_deletes;

}  // namespace

Node::~Node() { std::destroy_n(edges_, edge_count_); }

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
