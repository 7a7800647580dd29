// Tensors passed on as they are: what the function sees of their gradients, and what it makes.
#include "core/autograd/hooks/gradient_hook_node.hpp"

#include "core/autograd/engine/engine.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("autograd/gradient_hook_node") {
  TEST_CASE("the function sees all gradients together, zeros for what did not come") {
    const TensorRef x = leaf({1, 2}), y = leaf({3});
    Tensor* tensors[] = {x.get(), y.get()};
    int runs = 0;
    const std::vector<TensorRef> passed =
        hook_gradients(tensors, [&](std::vector<TensorRef>& gradients) {
          ++runs;
          REQUIRE(gradients.size() == 2);
          CHECK(read(*gradients[0]) == std::vector<float>{5, 6});
          CHECK(read(*gradients[1]) == std::vector<float>{0});
          gradients[1] = floats({7});
        });
    CHECK(passed[0]->view.data == x->view.data);
    CHECK(passed[0]->requires_grad());
    const auto* node = static_cast<const Node*>(passed[0]->node);
    CHECK(passed[1]->node == passed[0]->node);
    CHECK(passed[1]->node_output == 1);
    CHECK(hooks_gradients(*node));
    const TensorRef seed = floats({5, 6});
    Tensor* roots[] = {passed[0].get()};
    Tensor* seeds[] = {seed.get()};
    run_backward(roots, seeds, nullptr, {});
    CHECK(runs == 1);
    CHECK(read(*grad_of(*x)) == std::vector<float>{5, 6});
    CHECK(read(*grad_of(*y)) == std::vector<float>{7});
  }

  TEST_CASE("what a run keeps for a node is taken once") {
    const TensorRef x = leaf({1});
    Tensor* tensors[] = {x.get()};
    const std::vector<TensorRef> passed =
        hook_gradients(tensors, [&](std::vector<TensorRef>& gradients) {
          CHECK_FALSE(thread_state.run->take(&tensors));
          thread_state.run->keep(&tensors, gradients);
          CHECK(thread_state.run->take(&tensors)->size() == 1);
          CHECK_FALSE(thread_state.run->take(&tensors));
        });
    const TensorRef seed = floats({1});
    Tensor* roots[] = {passed[0].get()};
    Tensor* seeds[] = {seed.get()};
    run_backward(roots, seeds, nullptr, {});
    CHECK(read(*grad_of(*x)) == std::vector<float>{1});
  }
}
