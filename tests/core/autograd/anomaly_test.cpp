// Errors of rules that say where their forward call was made, and the search for nan.
#include "core/autograd/engine/anomaly.hpp"

#include <limits>

#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

std::string run(Node& node, bool search) {
  const TensorRef gradient = floats({1});
  Tensor* const gradients[] = {gradient.get()};
  Answer answer;
  try {
    apply_watched(node, gradients, answer, {}, search);
  } catch (const Error& error) {
    return error.message;
  }
  return "";
}

// A node whose rule answers this.
IntrusivePtr<RuleNode> answering(Answer answer) {
  return rule_node(*floats({0}), {},
                   [answer = std::move(answer)](std::span<Tensor* const>) { return answer; });
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_SUITE("autograd/anomaly") {
  TEST_CASE("an error of a rule says where its forward call was made, or that it is not known") {
    const auto node = rule_node(*floats({0}), {}, [](std::span<Tensor* const>) -> Answer {
      throw Error(TENON_ERROR_VALUE, "the rule is broken");
    });
    CHECK(run(*node, false) ==
          "the rule is broken\n  Its forward call: the engine's own RuleBackward0 (where is not "
          "known: anomaly mode was off when it was recorded).");
    remember_origin(*node);
    const std::string text = run(*node, false);
    CHECK(has(text, "the rule is broken\n  Its forward call: the engine's own RuleBackward0"));
    CHECK(text.find("not known") == text.npos);
  }

  TEST_CASE("a nan is an error that names the output, only where it is searched for") {
    const auto node = answering({floats({1}), {}, floats({2, kNan})});
    CHECK(run(*node, false) == "");
    CHECK(has(run(*node, true), "Function 'RuleBackward0' returned nan values in its 2th output."));
    CHECK(run(*answering({floats({1, 2})}), true) == "");
    CHECK(run(*answering({floats({std::numeric_limits<float>::infinity()})}), true) == "");
  }

  TEST_CASE("a nan is found in any layout and in each floating dtype, and nowhere else") {
    const TensorRef base = floats({1, kNan, 2, 3});
    const int64_t shape[] = {2}, strides[] = {2};
    CHECK(run(*answering({make_alias(*base, shape, strides, 0)}), true) == "");
    CHECK(run(*answering({make_alias(*base, shape, strides, 1)}), true) != "");
    CHECK(run(*answering({contiguous_copy(*base, TENON_F64)}), true) != "");
    CHECK(run(*answering({contiguous_copy(*base, TENON_I64)}), true) == "");
  }
}
