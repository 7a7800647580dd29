// The common members of all nodes: a place in the order, slots, and parts that are made when they
// are needed.
#include "core/autograd/graph/node.hpp"

#include <thread>

#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

class Slots final : public Node {
 public:
  Slots(const NodeBlock& block, uint64_t mask) : Node(block) { tensor_slots_ = mask; }
  const char* name() const override { return "Slots"; }
  void apply(std::span<Tensor* const>, Answer&, const BackwardCall&) override {}
};
IntrusivePtr<Slots> slots(uint64_t mask = ~uint64_t{0}) {
  return NodeBlock(sizeof(Slots), 1, {}).make<Slots>(mask);
}

}  // namespace

TEST_SUITE("autograd/node") {
  TEST_CASE("later nodes have higher numbers, all below that of leaves") {
    const auto first = slots(), second = slots();
    CHECK(first->sequence() < second->sequence());
    CHECK(second->sequence() < kAccumulatorSequence);
  }

  TEST_CASE("a slot beyond those that are noted may hold a tensor") {
    const auto node = slots(0b101);
    CHECK(node->slot_holds_tensor(0));
    CHECK_FALSE(node->slot_holds_tensor(1));
    CHECK(node->slot_holds_tensor(2));
    CHECK_FALSE(node->slot_holds_tensor(63));
    CHECK(node->slot_holds_tensor(64));
  }

  TEST_CASE("threads that ask for the extra at the same time get one") {
    for (int round = 0; round < 50; ++round) {
      const auto node = slots();
      CHECK(node->extra_if_any() == nullptr);
      NodeExtra* seen[4] = {};
      std::vector<std::thread> threads;
      for (NodeExtra*& extra : seen) threads.emplace_back([&] { extra = &node->extra(); });
      for (std::thread& thread : threads) thread.join();
      for (const NodeExtra* extra : seen) CHECK(extra == node->extra_if_any());
    }
  }

  TEST_CASE("an extra that a handle keeps knows that its node is gone") {
    auto node = slots();
    NodeExtra& extra = node->extra();
    extra.retain();
    CHECK(extra.node() == node.get());
    node = {};
    CHECK(extra.node() == nullptr);
    extra.release();
  }

  TEST_CASE("a node that ends gives up what its edges hold") {
    const TensorRef tensor = leaf({1});
    auto node = slots();
    node->edges()[0] = gradient_edge(*tensor);
    CHECK(tensor->references == 2);
    node = {};
    CHECK(tensor->references == 1);
  }
}
