// Nodes in one block: where their parts are, and what they own.
#include "core/autograd/graph/node_block.hpp"

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "core/autograd/graph/node.hpp"

using namespace tenon::core;

namespace {

class PlainNode final : public Node {
 public:
  PlainNode(const NodeBlock& block, int* destroyed) : Node(block), destroyed_(destroyed) {}
  const char* name() const override { return "Plain"; }
  void apply(std::span<Tensor* const>, std::vector<TensorRef>&, const BackwardCall&) override {}

 private:
  ~PlainNode() override { ++*destroyed_; }
  int* destroyed_;
};

NodeRef make_node(size_t edges, int* destroyed) {
  NodeBlock block(sizeof(PlainNode), edges, {});
  return block.make<PlainNode>(destroyed);
}

}  // namespace

TEST_SUITE("node_block") {
  TEST_CASE("parts follow each other, aligned and apart, for any counts") {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
      int destroyed = 0;
      const size_t edges = random() % 5;
      std::deque<TensorRef> tensors;
      std::vector<const Tensor*> outputs;
      for (size_t i = random() % 4; i > 0; --i) {
        if (random() % 4 == 0) {
          outputs.push_back(nullptr);
          continue;
        }
        std::vector<int64_t> shape(random() % 4);
        for (int64_t& size : shape) size = static_cast<int64_t>(random() % 3);
        tensors.push_back(make_empty(random() % 2 == 0 ? TENON_F32 : TENON_I64, shape));
        outputs.push_back(tensors.back().get());
      }
      NodeBlock block(sizeof(PlainNode), edges, outputs);
      const size_t first_bytes = random() % 20;
      const size_t first_at = block.add(first_bytes);
      const size_t second_at = block.add(8);
      const NodeRef node = block.make<PlainNode>(&destroyed);
      const auto address = [](const void* at) { return reinterpret_cast<uintptr_t>(at); };
      auto end = address(node.get()) + sizeof(PlainNode);
      const auto part = [&](const void* at, size_t bytes) {
        CHECK(address(at) % 8 == 0);
        CHECK(address(at) >= end);
        end = address(at) + bytes;
      };
      REQUIRE(node->edges().size() == edges);
      part(node->edges().data(), edges * sizeof(Edge));
      for (const Edge& edge : node->edges()) CHECK_FALSE(edge.node);
      REQUIRE(node->outputs().size() == outputs.size());
      part(node->outputs().data(), outputs.size() * sizeof(OutputInfo));
      for (size_t i = 0; i < outputs.size(); ++i) {
        const OutputInfo& info = node->outputs()[i];
        if (outputs[i] == nullptr) {
          CHECK(info.dtype == TENON_DTYPE_NONE);
          continue;
        }
        CHECK(info.dtype == outputs[i]->view.dtype);
        CHECK(info.differentiable == (info.dtype == TENON_F32));
        CHECK(same_shape(info.sizes(), outputs[i]->shape()));
        part(info.shape, info.rank * sizeof(int64_t));
      }
      part(block.array<char>(first_at), first_bytes);
      part(block.array<char>(second_at), 8);
    }
  }

  TEST_CASE("a node owns where its edges lead") {
    int destroyed = 0;
    NodeRef leaf = make_node(0, &destroyed);
    NodeRef node = make_node(2, &destroyed);
    node->edges()[0] = {leaf, 0};
    node->edges()[1] = {std::move(leaf), 3};
    CHECK(node->edges()[0].node->references == 2);
    Edge kept = node->edges()[1];
    node = {};
    CHECK(destroyed == 1);
    CHECK(kept.node->references == 1);
    CHECK(kept.output == 3);
    kept = {};
    CHECK(destroyed == 2);
  }

  TEST_CASE("a chain that is longer than any stack is released") {
    int destroyed = 0;
    constexpr int kNodes = 300'000;
    NodeRef last;
    for (int i = 0; i < kNodes; ++i) {
      NodeRef node = make_node(1, &destroyed);
      node->edges()[0] = {std::move(last), 0};
      last = std::move(node);
    }
    CHECK(destroyed == 0);
    last = {};
    CHECK(destroyed == kNodes);
  }
}
