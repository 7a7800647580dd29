// Every way in which an op's descriptor can contradict itself.
#include <string>

#include <doctest/doctest.h>

#include "core/dispatch/table/op.hpp"

using namespace tenon::core;

namespace {

tenon_op_descriptor sound() {
  tenon_op_descriptor op{};
  op.size = sizeof(op);
  op.run = [](void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
    return tenon_status{TENON_OK};
  };
  return op;
}
tenon_status rule(void*, tenon_context*, tenon_tensor* const*, int64_t, tenon_error**) {
  return TENON_OK;
}
std::string fault_of(const tenon_op_descriptor& op) {
  const auto fault = check_op(op);
  if (!fault) return "";
  CHECK_FALSE(fault->remedy.empty());
  return fault->what;
}

}  // namespace

TEST_SUITE("op_check") {
  TEST_CASE("what fits together passes") {
    tenon_op_descriptor op = sound();
    CHECK(fault_of(op) == "");
    op.differentiable = TENON_DIFFERENTIABLE_FORMULA;
    op.vjp = rule;
    op.jvp_kind = TENON_JVP_LINEAR;
    CHECK(fault_of(op) == "");
  }

  TEST_CASE("each contradiction is named") {
    tenon_op_descriptor op = sound();
    op.run = nullptr;
    CHECK(fault_of(op) == "has neither run nor elementwise");
    tenon_elementwise kernel{sizeof(tenon_elementwise), 0, nullptr, nullptr};
    op.elementwise = &kernel;
    CHECK(fault_of(op) == "has an elementwise kernel without loops or with a wrong size");
    op.run = sound().run;
    CHECK(fault_of(op) == "has both run and elementwise");

    op = sound();
    op.flags = TENON_OP_MAY_DECLINE;
    CHECK(fault_of(op) == "declares that it may decline but has no declines");
    op.declines = [](void*, const tenon_value*) -> const char* { return nullptr; };
    CHECK(fault_of(op) == "");
    op.flags = 0;
    CHECK(fault_of(op) == "has a declines but does not declare that it may decline");

    op = sound();
    op.backward = op.vjp = rule;
    CHECK(fault_of(op) == "has both backward and vjp, which are one rule");
    op.vjp = nullptr;
    CHECK(fault_of(op) == "has a backward but is not differentiable by formula");
    op.backward = nullptr;
    op.differentiable = TENON_DIFFERENTIABLE_FORMULA;
    CHECK(fault_of(op) == "is differentiable by formula but has no backward or vjp");

    op = sound();
    op.jvp_kind = TENON_JVP_RULE;
    CHECK(fault_of(op) == "declares a jvp rule but has none");
    op.jvp = rule;
    op.jvp_kind = TENON_JVP_LINEAR;
    CHECK(fault_of(op) == "has a jvp but does not declare that it is its rule");
    op.jvp = nullptr;
    op.differentiable = TENON_DIFFERENTIABLE_COMPOSITE;
    CHECK(fault_of(op).starts_with("is composite and has a jvp, which would never run"));
  }
}
