// Anomaly mode: errors of backward that name the forward call.
#include <thread>

#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;

Refusal masked_division(bool recorded_in_mode) {
  const Tensor x = leaf({0, 1}), zero = scalar(0);
  Tensor y;
  if (recorded_in_mode) {
    const AnomalyMode watch;
    y = zero / x;
  } else {
    y = zero / x;
  }
  const AnomalyMode watch;
  const Refusal refused = refusal([&] { sum(y * row({0, 1})).backward(); });
  CHECK_FALSE(x.grad().defined());
  return refused;
}

}  // namespace

TEST_SUITE("sdk/anomaly") {
  TEST_CASE("a gradient that is not a number names the forward op, its plugin and the call site") {
    const Refusal refused = masked_division(true);
    CHECK(refused.kind == TENON_ERROR_RUNTIME);
    CHECK(refused.text.rfind("Function 'DivBackward0' returned nan values in its 1th output.", 0) ==
          0);
    CHECK(has(refused.text, "op 'div' of plugin 'math', called from "));
    CHECK(has(refused.text, "tenon_sdk_tests"));  // the program is the caller
    CHECK(refused.op == "div");
    CHECK(refused.provider == "math");
  }

  TEST_CASE("a double backward names the call whose backward recorded the failing one, too") {
    for (const bool known : {true, false}) {
      const Tensor x = leaf({0, 1});
      Tensor root;
      if (!known) root = sqrt(x);
      const AnomalyMode watch;
      if (known) root = sqrt(x);
      const Tensor slope = gradients({sum(root)}, {x}, recorded())[0];
      const Refusal refused = refusal([&] { sum(slope * row({0, 1})).backward(); });
      CHECK(refused.text.rfind("Function 'DivBackward0' returned nan values", 0) == 0);
      CHECK(has(refused.text, "Its forward call: op 'div' of plugin 'math', called from "));
      CHECK(has(refused.text,
                "was induced by 'SqrtBackward0'; its forward call: op 'sqrt' of plugin 'math'"));
      CHECK(has(refused.text, known ? "tenon_sdk_tests" : "anomaly mode was off when it"));
    }
  }

  TEST_CASE("what was recorded outside of the mode says so") {
    CHECK(has(masked_division(false).text, "anomaly mode was off when it was recorded"));
  }

  TEST_CASE("an error of a rule names its forward call too, and keeps its kind") {
    const Tensor x = leaf({1, 2});
    const AnomalyMode watch(false);
    const Tensor y = apply("throw_in_backward", x, "index");
    const Refusal refused = refusal([&] { sum(y).backward(); });
    CHECK(refused.kind == TENON_ERROR_INDEX);
    CHECK(has(refused.text, "op 'fx.throw_in_backward' of plugin 'functions', called from "));
  }

  TEST_CASE("nan passes without the mode, and without the check") {
    const Tensor x = leaf({0, 1}), y = sum(scalar(0) / x);
    y.backward({}, true);
    CHECK(numbers(x.grad())[0] != numbers(x.grad())[0]);
    const AnomalyMode watch(false);
    y.backward();
  }

  TEST_CASE("the mode is a scope of one thread") {
    CHECK_FALSE(AnomalyMode::enabled());
    {
      const AnomalyMode watch;
      CHECK(AnomalyMode::enabled());
      bool elsewhere = true;
      std::thread([&] { elsewhere = AnomalyMode::enabled(); }).join();
      CHECK_FALSE(elsewhere);
    }
    CHECK_FALSE(AnomalyMode::enabled());
  }
}
