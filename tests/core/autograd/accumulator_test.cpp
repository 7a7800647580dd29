// The node of a leaf: what arrives is added to .grad, and the leaf lives while edges lead to it.
#include "core/autograd/graph/accumulator.hpp"

#include "core/autograd/graph/tensor_meta.hpp"
#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

void deliver(Node& node, const TensorRef& gradient) {
  Tensor* const gradients[] = {gradient.get()};
  Answer answer;
  node.apply(gradients, answer, {});
  CHECK(answer.empty());
}

}  // namespace

TEST_SUITE("autograd/accumulator") {
  TEST_CASE("gradients that arrive add up in .grad") {
    provide_core_ops();
    const TensorRef tensor = leaf({1, 2});
    const Edge edge = gradient_edge(*tensor);
    deliver(*edge.node, floats({3, 4}));
    CHECK(read(*grad_of(*tensor)) == std::vector<float>{3, 4});
    deliver(*edge.node, floats({10, 20}));
    CHECK(read(*grad_of(*tensor)) == std::vector<float>{13, 24});
    CHECK(read(*tensor) == std::vector<float>{1, 2});
  }

  TEST_CASE("where no gradient arrives, .grad stays undefined") {
    const TensorRef tensor = leaf({1, 2});
    deliver(*gradient_edge(*tensor).node, {});
    CHECK_FALSE(grad_of(*tensor));
  }

  TEST_CASE("edges hold one reference to the leaf together") {
    const TensorRef tensor = leaf({1, 2});
    {
      const Edge first = gradient_edge(*tensor), second = gradient_edge(*tensor);
      CHECK(tensor->references == 2);
      CHECK(first.node->references == 2);
    }
    CHECK(tensor->references == 1);
    CHECK(meta_of(*tensor).accumulator.load() != nullptr);
  }

  TEST_CASE("it comes last in the engine's order, and describes its leaf") {
    const TensorRef tensor = leaf({1, 2, 3});
    Node& node = *gradient_edge(*tensor).node;
    CHECK(node.sequence() == kAccumulatorSequence);
    CHECK(node.edges().empty());
    REQUIRE(node.outputs().size() == 1);
    CHECK(same_shape(node.outputs()[0].sizes(), tensor->shape()));
    CHECK(node.outputs()[0].dtype == TENON_F32);
    tensor->view.dtype = TENON_I32;  // another dtype of the same size
    static_cast<Accumulator&>(node).refresh_output();
    CHECK(node.outputs()[0].dtype == TENON_I32);
  }
}
