// Runs over graphs made by hand: sums over all paths, the order of nodes, what is asked for.
#include "core/autograd/engine/engine.hpp"

#include <random>
#include <thread>

#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// result = sum of factor * input, elementwise.
TensorRef weighted(std::vector<TensorRef> inputs, const std::vector<float>& factors,
                   const std::function<void()>& seen = {}) {
  TensorRef result = floats({0});
  std::vector<Tensor*> raw;
  for (const TensorRef& input : inputs) raw.push_back(input.get());
  auto node = rule_node(*result, raw, [factors, seen](std::span<Tensor* const> gradients) {
    if (seen) seen();
    Answer answer;
    for (const float factor : factors) answer.push_back(scaled(*gradients[0], factor));
    return answer;
  });
  set_history(*result, {std::move(node), 0});
  return result;
}

float value(const TensorRef& tensor) {
  REQUIRE(tensor);
  return read(*tensor)[0];
}

void backward(const TensorRef& root, BackwardOptions options = {}) {
  Tensor* const roots[] = {root.get()};
  Tensor* const seeds[] = {nullptr};
  run_backward(roots, seeds, nullptr, options);
}
std::vector<TensorRef> gradients(const TensorRef& root, std::vector<Tensor*> inputs,
                                 Unused unused = Unused::Null, BackwardOptions options = {}) {
  Tensor* const roots[] = {root.get()};
  Tensor* const seeds[] = {nullptr};
  return run_gradients(roots, seeds, inputs, options, unused);
}

}  // namespace

TEST_SUITE("autograd/engine") {
  TEST_CASE("in random graphs a gradient is the sum over all paths, and each node runs once") {
    provide_core_ops();
    std::mt19937 random(11);
    for (int round = 0; round < 200; ++round) {
      constexpr size_t kLeaves = 3;
      const size_t count = kLeaves + 1 + random() % 12;
      std::vector<TensorRef> tensors;
      std::vector<int> runs(count);
      // By tensor: how it changes with each leaf.
      std::vector<std::vector<float>> slopes;
      for (size_t i = 0; i < kLeaves; ++i) {
        tensors.push_back(leaf({1}));
        slopes.emplace_back(kLeaves)[i] = 1;
      }
      for (size_t i = kLeaves; i < count; ++i) {
        std::vector<TensorRef> inputs;
        std::vector<float> factors, slope(kLeaves);
        for (size_t k = 1 + random() % 3; k > 0; --k) {
          const size_t input = random() % i;  // twice the same, too
          const auto factor = static_cast<float>(static_cast<int>(random() % 5) - 2);
          inputs.push_back(tensors[input]);
          factors.push_back(factor);
          for (size_t l = 0; l < kLeaves; ++l) slope[l] += factor * slopes[input][l];
        }
        tensors.push_back(weighted(inputs, factors, [&runs, i] { ++runs[i]; }));
        slopes.push_back(slope);
      }
      backward(tensors.back());
      for (size_t l = 0; l < kLeaves; ++l) {
        const TensorRef grad = grad_of(*tensors[l]);
        CHECK((grad ? value(grad) : 0.0f) == slopes.back()[l]);
      }
      for (const int ran : runs) CHECK(ran <= 1);
      CHECK(runs.back() == 1);
      // Asked for one by one, of tensors in the middle as well.
      const size_t asked = random() % count;
      const auto of_leaves = gradients(tensors.back(), {tensors[asked].get()}, Unused::Zeros);
      if (asked < kLeaves) CHECK(value(of_leaves[0]) == slopes.back()[asked]);
      if (asked == count - 1) CHECK(value(of_leaves[0]) == 1.0f);
    }
  }

  TEST_CASE("nodes run in the reverse order of recording") {
    const TensorRef x = leaf({1});
    std::vector<int> order;
    const TensorRef a = weighted({x}, {1}, [&] { order.push_back(1); });
    const TensorRef b = weighted({x}, {1}, [&] { order.push_back(2); });
    const TensorRef c = weighted({b, a}, {1, 1}, [&] { order.push_back(3); });
    provide_core_ops();
    backward(c);
    CHECK(order == std::vector<int>{3, 2, 1});
  }

  TEST_CASE("gradients that are asked for leave every .grad alone") {
    const TensorRef x = leaf({1});
    const TensorRef y = weighted({x}, {4});
    CHECK(value(gradients(y, {x.get()})[0]) == 4);
    CHECK_FALSE(grad_of(*x));
  }

  TEST_CASE("nodes that lead to no input that is asked for do not run") {
    const TensorRef x = leaf({1}), other = leaf({1});
    bool ran = false;
    const TensorRef side = weighted({other}, {2}, [&] { ran = true; });
    const TensorRef y = weighted({x, side}, {3, 5});
    CHECK(value(gradients(y, {x.get()})[0]) == 3);
    CHECK_FALSE(ran);
  }

  TEST_CASE("an input that the roots do not depend on is refused, null or zeros") {
    const TensorRef x = leaf({1}), other = leaf({1, 2});
    const BackwardOptions keep{true, false};
    const TensorRef y = weighted({x}, {1});
    const std::string text =
        refusal([&] { gradients(y, {other.get()}, Unused::Refused, keep); }, TENON_ERROR_GRAPH);
    CHECK(text != "");
    CHECK_FALSE(gradients(y, {other.get()}, Unused::Null, keep)[0]);
    CHECK(read(*gradients(y, {other.get()}, Unused::Zeros, keep)[0]) == std::vector<float>{0, 0});
  }

  TEST_CASE("an error leaves every .grad as it was") {
    const TensorRef x = leaf({1});
    const TensorRef before = weighted({x}, {7}, [] { throw Error(TENON_ERROR_VALUE, "broken"); });
    const TensorRef y = weighted({x, before}, {1, 1});
    CHECK(refusal([&] { backward(y); }, TENON_ERROR_VALUE) == "broken");
    CHECK_FALSE(grad_of(*x));
  }

  TEST_CASE("what nodes saved is released unless the graph is retained") {
    const TensorRef x = leaf({1});
    const TensorRef y = weighted({x}, {1});
    auto& node = static_cast<Node&>(*y->node);
    backward(y, {true, false});
    CHECK_FALSE(node.released());
    provide_core_ops();
    backward(y);
    CHECK(node.released());
    CHECK(value(grad_of(*x)) == 2);
  }

  TEST_CASE("roots that need a seed, or have no history, are refused") {
    const TensorRef constant = floats({1});
    CHECK(has(refusal([&] { backward(constant); }, TENON_ERROR_GRAPH),
              "does not require grad and does not have a grad_fn"));
    const TensorRef two = leaf({1, 2});
    CHECK(has(refusal([&] { backward(two); }, TENON_ERROR_GRAPH),
              "only for scalar outputs; the root has shape [2]"));
    Tensor* const roots[] = {two.get()};
    const TensorRef wrong = floats({1, 2, 3});
    Tensor* const seeds[] = {wrong.get()};
    CHECK(has(refusal([&] { run_backward(roots, seeds, nullptr, {}); }, TENON_ERROR_GRAPH),
              "the seed has shape [3] but the root has shape [2]"));
  }

  TEST_CASE("a run inside of a rule has its own state") {
    const TensorRef x = leaf({1}), inner = leaf({1});
    const TensorRef inner_root = weighted({inner}, {5});
    float found = 0;
    const TensorRef y =
        weighted({x}, {2}, [&] { found = value(gradients(inner_root, {inner.get()})[0]); });
    backward(y);
    CHECK(found == 5);
    CHECK(value(grad_of(*x)) == 2);
    CHECK_FALSE(grad_of(*inner));
  }

  TEST_CASE("a run while the objects of a thread are destroyed needs none of them") {
    float found = 0;
    std::thread([&] {
      struct AtEnd {
        ~AtEnd() {
          const TensorRef x = leaf({1});
          *into = value(gradients(weighted({x}, {3}), {x.get()})[0]);
        }
        float* into = nullptr;
      };
      thread_local AtEnd last;  // made before what runs keep, destroyed after it
      last.into = &found;
      const TensorRef x = leaf({1});
      backward(weighted({x}, {2}));
    }).join();
    CHECK(found == 3);
  }
}
