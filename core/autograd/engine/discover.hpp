// The part of its graph that a run goes through, and the state of its nodes. Private to the engine.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/autograd/graph/node.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// Most runs are small: they allocate nothing for the state of their nodes. Vectors of large runs
// double, since moving them reads memory.
using Doubling = boost::container::small_vector_options_t<
    boost::container::growth_factor<boost::container::growth_factor_100>>;
template <class T>
using RunVector = boost::container::small_vector<T, 4, void, Doubling>;

// State of a node in a run.
struct Visit {
  Node* node = nullptr;
  uint32_t waiting = 0;    // gradients still to come, in edges
  uint32_t gradients = 0;  // offset of the node's buffer
  bool needed = true;      // leads to an input whose gradient is captured, or all are needed
  bool captured = false;
  bool queued = false;
  uint32_t next_leaf = 0;  // next of the leaves whose gradients wait to be added: index + 1
};
using Visits = RunVector<Visit>;

// Index of a node's visit, by open addressing: a run looks nodes up several times for each edge.
// boost::unordered_flat_map, from nodes to indices, takes 1.7 times as long for runs of 2 nodes,
// 1.2 times for 8, 1.8 times for 1,000 and as long for 100,000 (GCC 12, -O2): it stores the keys
// twice and allocates for small runs.
class VisitMap {
 public:
  VisitMap() : slots_(32) {}
  // Returns the index of the node's visit, and whether it is new.
  std::pair<uint32_t, bool> intern(Node* node, Visits& visits) {
    size_t at = hash(node);
    while (slots_[at] != 0) {
      if (visits[slots_[at] - 1].node == node) return {slots_[at] - 1, false};
      at = (at + 1) & (slots_.size() - 1);
    }
    visits.emplace_back().node = node;
    slots_[at] = static_cast<uint32_t>(visits.size());
    if (visits.size() * 2 > slots_.size()) grow(visits);
    return {static_cast<uint32_t>(visits.size() - 1), true};
  }
  const Visit* find(const Node* node, const Visits& visits) const {
    for (size_t at = hash(node); slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      if (visits[slots_[at] - 1].node == node) return &visits[slots_[at] - 1];
    }
    return nullptr;
  }

 private:
  size_t hash(const Node* node) const {
    return (reinterpret_cast<uintptr_t>(node) >> 6) * 0x9e3779b97f4a7c15u >> 20 &
           (slots_.size() - 1);
  }
  void grow(const Visits& visits) {
    slots_.assign(slots_.size() * 2, 0);
    for (uint32_t i = 0; i < visits.size(); ++i) {
      size_t at = hash(visits[i].node);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = i + 1;
    }
  }
  boost::container::small_vector<uint32_t, 32> slots_;  // index + 1; 0: empty
};

// An output that gradients are taken of, with the gradient that it begins with.
struct GradientRoot {
  Node* node;
  uint32_t output;
  TensorRef seed;
};

struct RunGraph {
  bool all_needed;  // all leaves accumulate
  RunVector<GradientRoot> roots;
  std::vector<Node*> captured{};  // whose gradients are kept for the caller
  Visits visits{};
  VisitMap map{};
  RunVector<Tensor*> gradients{};  // arrived so far, by Visit::gradients; owned

  // Visits each node that the roots lead to once: gives it a place in `gradients`, counts the edges
  // that gradients arrive by, and marks it needed where it leads to one of `captured`.
  void discover();
};

}  // namespace tenon::core
