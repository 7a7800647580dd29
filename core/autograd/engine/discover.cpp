// The first walk of a run through its graph: without recursion, since graphs are deeper than
// stacks.
#include "core/autograd/engine/discover.hpp"

#include <algorithm>

namespace tenon::core {

void RunGraph::discover() {
  std::sort(captured.begin(), captured.end());
  struct Frame {
    explicit Frame(uint32_t at) : visit(at) {}
    uint32_t visit;
    uint32_t edge = 0;
  };
  RunVector<Frame> stack;
  const auto enter = [&](Node* node) -> uint32_t {
    const auto [index, fresh] = map.intern(node, visits);
    if (fresh) {
      Visit& visit = visits[index];
      visit.gradients = static_cast<uint32_t>(gradients.size());
      gradients.resize(gradients.size() + node->outputs().size());
      visit.captured = std::binary_search(captured.begin(), captured.end(), node);
      visit.needed = all_needed || visit.captured;
      stack.emplace_back(index);
    }
    return index;
  };
  for (const GradientRoot& root : roots) {
    enter(root.node);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const uint32_t parent = frame.visit;
      const std::span<Edge> edges = visits[parent].node->edges();
      if (frame.edge < edges.size()) {
        Node* child = edges[frame.edge++].node.get();
        if (child == nullptr) continue;
        const uint32_t index = enter(child);  // moves `frame`
        ++visits[index].waiting;
        continue;
      }
      stack.pop_back();
      if (visits[parent].needed) continue;
      for (const Edge& edge : edges) {
        if (!edge.node) continue;
        const Visit& child = visits[map.intern(edge.node.get(), visits).first];
        if (child.needed) {
          visits[parent].needed = true;
          break;
        }
      }
    }
  }
}

}  // namespace tenon::core
