// Gradients that a rule may return.
#include "core/autograd/engine/gradient_check.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/autograd/graph/node_block.hpp"
#include "core/base/error.hpp"
#include "tests/support/core_tensors.hpp"

using namespace tenon::core;
using tenon::test::tensor_of;

namespace {

class TwoEdges final : public Node {
 public:
  explicit TwoEdges(const NodeBlock& block) : Node(block) { tensor_slots_ = 1; }
  const char* name() const override { return "TwoEdges"; }
  void apply(std::span<Tensor* const>, std::vector<TensorRef>&, const BackwardCall&) override {}
};

NodeRef node_of(const Tensor& output) {
  const Tensor* const outputs[] = {&output};
  return NodeBlock(sizeof(TwoEdges), 2, outputs).make<TwoEdges>();
}

std::string refusal(Node& node, const std::vector<TensorRef>& answer) {
  try {
    check_gradients(node, answer);
  } catch (const Error& error) {
    return error.message;
  }
  return "";
}

}  // namespace

TEST_SUITE("gradient_check") {
  TEST_CASE("as many gradients as edges, and more only when undefined") {
    const TensorRef tensor = tensor_of<float>({2}, {1, 2});
    const NodeRef node = node_of(*tensor);
    CHECK(refusal(*node, {tensor, {}}) == "");
    CHECK(refusal(*node, {tensor, {}, {}}) == "");
    CHECK(refusal(*node, {tensor}) ==
          "function TwoEdges returned an incorrect number of gradients (expected 2, got 1)");
    CHECK(refusal(*node, {tensor, {}, tensor}) ==
          "function TwoEdges returned an incorrect number of gradients (expected 2, got 3)");
    CHECK(refusal(*node, {tensor, tensor}) ==
          "function TwoEdges returned a gradient different from None at position 2, but the "
          "corresponding forward input was not a tensor");
  }

  TEST_CASE("a gradient that fits is passed on, one that cannot be made to fit is refused") {
    const TensorRef tensor = tensor_of<float>({2, 1}, {1, 2});
    const NodeRef node = node_of(*tensor);
    const OutputInfo& info = node->outputs()[0];
    const TensorRef good = tensor_of<float>({2, 1}, {3, 4});
    CHECK(fit_gradient(good, info, *node, 0).get() == good.get());
    CHECK_THROWS_WITH_AS(
        fit_gradient(tensor_of<float>({3, 1}, {1, 2, 3}), info, *node, 1),
        "function TwoEdges returned an invalid gradient at index 1 - got [3, 1] but expected shape "
        "compatible with [2, 1]",
        Error);
    CHECK_THROWS_WITH_AS(fit_gradient(tensor_of<int64_t>({2, 1}, {1, 2}), info, *node, 0),
                         doctest::Contains("expected dtype f32 but got i64"), Error);
  }
}
