// Inference mode: what is recorded, what may be changed, and what its tensors are good for.
#include <thread>

#include "tests/sdk/functions.hpp"

namespace {
using namespace functions;
}

TEST_SUITE("sdk/inference") {
  TEST_CASE("modes nest, restore after exceptions, and belong to a thread") {
    try {
      const InferenceMode on;
      CHECK(InferenceMode::enabled());
      CHECK_FALSE(GradMode::enabled());
      bool elsewhere = true;
      std::thread([&] { elsewhere = InferenceMode::enabled(); }).join();
      CHECK_FALSE(elsewhere);
      {
        const InferenceMode off(false);
        CHECK_FALSE(InferenceMode::enabled());
        CHECK(GradMode::enabled());
        CHECK((leaf({1}) * 2).requires_grad());
      }
      CHECK(InferenceMode::enabled());
      throw 1;
    } catch (int) {
    }
    CHECK_FALSE(InferenceMode::enabled());
    CHECK(GradMode::enabled());
  }

  // F-215: rows are modes, columns what they do to a recorded operand, a constant, a view.
  TEST_CASE("the mode matrix: default, no-grad, inference") {
    const Tensor x = leaf({1, 2}), c = row({3, 4}), computed = x * 1;
    struct Row {
      Tensor from_leaf, from_constant, made, view;
    };
    const auto run = [&] { return Row{x * 2, c * 2, ones({2}, f64), computed.slice(0, 0, 1)}; };
    const Row usual = run();
    CHECK(usual.from_leaf.requires_grad());
    CHECK(usual.view.requires_grad());
    CHECK_FALSE(usual.from_constant.is_inference());
    CHECK_FALSE(usual.made.is_inference());
    Row silent;
    {
      const NoGrad off;
      silent = run();
    }
    CHECK_FALSE(silent.from_leaf.requires_grad());
    CHECK_FALSE(silent.from_leaf.is_inference());
    CHECK_FALSE(silent.made.is_inference());
    Row inference;
    {
      const InferenceMode on;
      inference = run();
      const EnableGrad grad;  // does not enable recording
      CHECK_FALSE((x * 2).requires_grad());
    }
    CHECK_FALSE(inference.from_leaf.requires_grad());
    CHECK(inference.from_leaf.is_leaf());
    for (const Tensor& made : {inference.from_leaf, inference.from_constant, inference.made})
      CHECK(made.is_inference());
    CHECK_FALSE(inference.view.is_inference());
    CHECK(inference.made.slice(0, 0, 1).is_inference());
    CHECK(inference.made.detach().is_inference());
    CHECK_FALSE(inference.made.clone().is_inference());
    CHECK_FALSE((inference.made * 2).is_inference());
  }

  TEST_CASE("inference tensors cannot be saved for backward; nothing has run then") {
    const Tensor w = leaf({1, 2});
    Tensor made;
    {
      const InferenceMode on;
      made = row({3, 4});
    }
    const Refusal refused = refusal([&] { w* made; });
    CHECK(refused.kind == TENON_ERROR_RUNTIME);
    CHECK(refused.op == "mul");
    CHECK(has(refused.text,
              "Inference tensors cannot be saved for backward. To work around you can make a clone "
              "to get a normal tensor and use it in autograd."));
    Tensor y = w * 1;
    CHECK(refusal([&] { y.mul_(made); }).kind == TENON_ERROR_RUNTIME);
    CHECK(numbers(y) == Numbers{1, 2});
    CHECK(has(refusal([&] { apply("mix", w, 2, made); }).text, "Inference tensors"));
    CHECK(numbers(w + made) == Numbers{4, 6});  // saves nothing
    sum(w * made.clone() + made).backward();
    CHECK(numbers(w.grad()) == Numbers{3, 4});
  }

  TEST_CASE("inference tensors change in place only in the mode; others in it as well") {
    Tensor made, usual = row({1, 2});
    {
      const InferenceMode on;
      made = row({3, 4});
      made.add_(1);
      usual.add_(made);
    }
    CHECK(numbers(usual) == Numbers{5, 7});
    for (const Refusal& refused : {refusal([&] { made.add_(1); }),
                                   refusal([&] { made.slice(0, 0, 1).add_(1); }), refusal([&] {
                                     const NoGrad off;
                                     made.add_(1);
                                   })}) {
      CHECK(refused.kind == TENON_ERROR_INPLACE);
      CHECK(has(refused.text, "Inplace update to inference tensor outside InferenceMode"));
    }
    CHECK(numbers(made) == Numbers{4, 5});
    usual.add_(1);
    CHECK(refusal([&] { made.requires_grad_(); }).kind == TENON_ERROR_RUNTIME);
  }

  TEST_CASE("a backward in inference mode leaves ordinary gradients") {
    const Tensor x = leaf({1, 2}), y = sum(x * x);
    {
      const InferenceMode on;
      y.backward({}, true);
    }
    CHECK_FALSE(x.grad().is_inference());
    y.backward();
    CHECK(numbers(x.grad()) == Numbers{4, 8});
  }
}
