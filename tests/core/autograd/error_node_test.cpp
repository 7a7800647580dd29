// Histories that refuse: where they lead, and what they say.
#include "core/autograd/graph/error_node.hpp"

#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status nothing(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}

std::unique_ptr<Implementation> implementation() {
  return make_implementation(descriptor("t.cube(Tensor input) -> Tensor", nothing), "shapes");
}

}  // namespace

TEST_SUITE("autograd/error_node") {
  TEST_CASE("a gradient that arrives is refused with the reason, op and provider") {
    const auto op = implementation();
    const TensorRef result = floats({1, 2});
    Tensor* const output = result.get();
    const auto message = [&](ErrorReason reason, uintptr_t detail, tenon_status kind) {
      const auto node = ErrorNode::create(*op, reason, detail, {}, {&output, 1});
      CHECK(node->name() == std::string("CubeBackward0"));
      CHECK(node->implementation() == op.get());
      Answer answer;
      try {
        node->apply({&output, 1}, answer, {});
      } catch (const Error& error) {
        CHECK(error.kind == kind);
        CHECK(error.op == "t.cube");
        CHECK(error.provider == "shapes");
        return error.message;
      }
      return std::string("nothing was refused");
    };
    CHECK(has(message(backward_differentiated, 0, TENON_ERROR_GRAPH),
              "once_differentiable: the backward of op 't.cube'"));
    CHECK(has(message(jvp_differentiated, 0, TENON_ERROR_GRAPH),
              "once_differentiable: the jvp of op 't.cube'"));
    CHECK(has(message(no_backward_rule, 0, TENON_ERROR_NOT_IMPLEMENTED),
              "[t.cube::backward] not implemented: Function 't.cube' of plugin 'shapes'"));
    CHECK(has(message(unknown_gradient, 2, TENON_ERROR_GRAPH), "uses saved tensor 2, which"));
    CHECK(has(message(unknown_gradient, kStashed, TENON_ERROR_GRAPH),
              "uses a tensor stashed on its context"));
  }

  TEST_CASE("it leads to what the tensors were made from, null edges left out") {
    const auto op = implementation();
    const TensorRef a = leaf({1}), b = leaf({2}), result = floats({1, 2});
    Tensor* const outputs[] = {result.get(), nullptr};
    const Edge edges[] = {gradient_edge(*a), {}, gradient_edge(*b), {}};
    const auto node = ErrorNode::create(*op, no_backward_rule, 0, edges, outputs);
    REQUIRE(node->edges().size() == 2);
    CHECK(node->edges()[0].node.get() == edges[0].node.get());
    CHECK(node->edges()[1].node.get() == edges[2].node.get());
    REQUIRE(node->outputs().size() == 2);
    CHECK(node->outputs()[0].dtype == TENON_F32);
    CHECK(node->outputs()[1].dtype == TENON_DTYPE_NONE);
  }
}
