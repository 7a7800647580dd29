// Preparing descriptors: what is worked out, and what is refused.
#include "core/dispatch/table/op.hpp"

#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status nothing(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}
tenon_status rule(void*, tenon_context*, tenon_tensor* const*, int64_t, tenon_error**) {
  return TENON_OK;
}

tenon_op_descriptor with_rule(const char* schema, const char* saves = nullptr) {
  tenon_op_descriptor op = descriptor(schema, nothing);
  op.differentiable = TENON_DIFFERENTIABLE_FORMULA;
  op.backward = rule;
  op.saves = saves;
  return op;
}
std::string refused(const tenon_op_descriptor& op) {
  return refusal([&] { make_implementation(op, "p"); }, TENON_ERROR_VALUE);
}

}  // namespace

TEST_SUITE("dispatch/op") {
  TEST_CASE("node names come from op names") {
    CHECK(node_name_for("add", false) == "AddBackward0");
    CHECK(node_name_for("add_", false) == "AddBackward0");
    CHECK(node_name_for("log_softmax", false) == "LogSoftmaxBackward0");
    CHECK(node_name_for("mul_constant", true) == "MulConstantBackward");
  }

  TEST_CASE("what calls read is worked out of the schema") {
    const auto made = make_implementation(
        with_rule(
            "t.f(Tensor(a!) x, Tensor[] more, int n=3, *, Tensor(b!)? out=None) -> Tensor(a!)",
            "x, shape(more) for x, result"),
        "p");
    CHECK(made->parameter_count == 4);
    CHECK(made->result_count == 1);
    CHECK(made->slot_parameters == 2);
    CHECK(made->out_parameter == 3);
    CHECK(made->mutated_parameters == 1);
    CHECK(made->mutates);
    CHECK(made->has_lists);
    CHECK_FALSE(made->aliases);
    CHECK_FALSE(made->fast_record);
    CHECK(made->schema.parameters[2].default_value.value.as.integer == 3);
    REQUIRE(made->saves.size() == 3);
    CHECK(made->saves[0].kind == SavedItem::Kind::Argument);
    CHECK(made->saves[1].kind == SavedItem::Kind::ShapeOnly);
    CHECK(made->saves[1].for_parameters == 1);
    CHECK(made->saves[2].kind == SavedItem::Kind::Result);
    CHECK(make_implementation(with_rule("t.g(Tensor x) -> Tensor"), "p")->fast_record);
    CHECK(make_implementation(with_rule("t.h(Tensor(a) x) -> Tensor(a)"), "p")->aliases);
  }

  TEST_CASE("a parameter may be called result") {
    const auto made = make_implementation(with_rule("t.f(Tensor result) -> Tensor", "result"), "p");
    CHECK(made->saves[0].kind == SavedItem::Kind::Argument);
  }

  TEST_CASE("descriptors that contradict themselves are refused") {
    tenon_op_descriptor op = descriptor("t.f(Tensor x) -> Tensor");
    CHECK(has(refused(op), "has neither run nor elementwise; set exactly one of them"));
    op.run = nothing;
    op.backward = rule;
    CHECK(has(refused(op), "has a backward but is not differentiable by formula"));
    op.backward = nullptr;
    op.differentiable = TENON_DIFFERENTIABLE_FORMULA;
    CHECK(has(refused(op), "has no backward"));
    op.differentiable = 0;
    op.jvp_kind = TENON_JVP_RULE;
    CHECK(has(refused(op), "declares a jvp rule but has none"));
    op.jvp_kind = TENON_JVP_LINEAR;
    op.differentiable = TENON_DIFFERENTIABLE_COMPOSITE;
    CHECK(has(refused(op), "is composite and has a jvp, which would never run"));
    CHECK(has(refused(with_rule("t.f(Tensor x) -> Tensor", "y")), "'y', which is not a parameter"));
    CHECK(has(refused(with_rule("t.f(Tensor input) -> Tensor", "shape(inptu)")),
              "'inptu', which is not a parameter (did you mean 'input'?)"));
    CHECK(has(refused(with_rule("t.f(Tensor x) -> Tensor", "x for y")),
              "'y', which is not a parameter"));
    CHECK(has(refused(with_rule("t.f(Tensor x) -> Tensor", "result1")),
              "'result1', which is not a result"));
    CHECK(has(refused(with_rule("t.f(Tensor x) -> Tensor", "resulting")),
              "'resulting', which is not a result"));
    CHECK(has(refused(descriptor("t.f(Tensor x) -> (int, int, int, int, int, int, int, int, int)",
                                 nothing)),
              "at most 8"));
  }

  TEST_CASE("a shorter descriptor of an older SDK reads as zero past its end") {
    tenon_op_descriptor op = with_rule("t.f(Tensor x) -> Tensor", "x");
    op.size = offsetof(tenon_op_descriptor, saves);
    CHECK(make_implementation(op, "p")->saves.empty());
  }
}
