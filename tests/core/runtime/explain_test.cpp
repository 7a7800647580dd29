// Calls that are explained and not run. The ops are of the test's own table; types of the process's.

#include <string>

#include "core/autograd/engine/grad.hpp"
#include "core/base/json.hpp"
#include "core/runtime/runtime.hpp"
#include "tests/core/dispatch/plugin.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

int runs = 0;
tenon_status run(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  ++runs;
  return TENON_OK;
}
tenon_status rule(void*, tenon_context*, tenon_tensor* const*, int64_t, tenon_error**) {
  ++runs;
  return TENON_OK;
}

constexpr const char* kScale = "explain.scale(Tensor x, Scalar by=2, *, bool fast=False) -> Tensor";
constexpr const char* kFill = "explain.fill_(Tensor(a!) x) -> Tensor(a!)";

const tenon_op* op(const char* name) {
  static const Registry& registry = []() -> const Registry& {
    tenon_op_descriptor scale = descriptor(kScale, run);
    scale.differentiable = TENON_DIFFERENTIABLE_FORMULA;
    scale.backward = rule;
    const tenon_op_descriptor fill = descriptor(kFill, run);
    const tenon_op_descriptor* ops[] = {&scale, &fill};
    auto* const made = new Registry;
    made->commit("explained", ops);
    return *made;
  }();
  return registry.find(name);
}

const TypeTable& types() {
  static const TypeTable& table = []() -> const TypeTable& {
    Plugin plugin{"explained", {}, {}};
    plugin.type("ExplainBare");
    plugin.type("ExplainHandler").handler = answer;
    plugin.commit(TypeTable::process());
    return TypeTable::process();
  }();
  return table;
}
TensorRef object(const char* type) {
  const int64_t shape[] = {1};
  return make_dataless(TENON_F32, shape, types().find(type)->id);
}

Json explained(const char* name, const std::vector<tenon_value>& arguments,
               const std::vector<tenon_string>& keywords = {},
               const std::vector<tenon_value>& values = {}) {
  runs = 0;
  Json document = explain_call(op(name), arguments, keywords, values);
  CHECK(runs == 0);
  return document;
}
std::string text(const tenon_json& node, const char* key) {
  return std::string(node.get(key).as_string());
}

}  // namespace

TEST_SUITE("runtime/explain") {
  TEST_CASE("arguments are shown as they are bound: given, converted, or by default") {
    const TensorRef x = floats({1});
    tenon_value fast = integer(1);
    fast.tag = TENON_VALUE_BOOL;
    const Json call = explained("explain.scale", {tensor_value(x.get())}, {{"fast", 4}}, {fast});
    const tenon_json& arguments = call->get("arguments");
    REQUIRE(arguments.size() == 3);
    CHECK(text(arguments.children()[0], "given") == "position");
    CHECK(text(arguments.children()[1], "given") == "default");
    CHECK(text(arguments.children()[1], "value") == "2");
    CHECK(text(arguments.children()[2], "given") == "keyword");
    CHECK(text(call->get("answer"), "what") == "kernel");
    CHECK(text(call->get("answer"), "provider") == "explained");
    CHECK(call->find("error") == nullptr);
  }

  TEST_CASE("a call that does not bind has the error of the call") {
    const Json call = explained("explain.scale", {});
    Outcome outcome;
    test::call(outcome, op("explain.scale"), {});
    CHECK(text(*call, "error") == outcome.message);
    CHECK(text(*call, "kind") == "TypeError");
    CHECK(text(*call, "refused_by") == "binding");
    CHECK(call->find("answer") == nullptr);
  }

  TEST_CASE("what is recorded is what this thread would record") {
    const TensorRef x = floats({1});
    CHECK(text(*explained("explain.scale", {tensor_value(x.get())}), "gradient") ==
          "records nothing: no operand requires grad");
    set_requires_grad(*x, true);
    CHECK(text(*explained("explain.scale", {tensor_value(x.get())}), "gradient") ==
          "records ScaleBackward0 (x needs a gradient)");
    const GradModeGuard off(false);
    CHECK(text(*explained("explain.scale", {tensor_value(x.get())}), "gradient") ==
          "records nothing: grad mode is off");
  }

  TEST_CASE("what may not be changed is refused as the call would be") {
    const TensorRef x = floats({1});
    x->view.flags |= TENON_TENSOR_READ_ONLY;
    const Json call = explained("explain.fill_", {tensor_value(x.get())});
    Outcome outcome;
    test::call(outcome, op("explain.fill_"), {tensor_value(x.get())});
    CHECK(outcome.status != TENON_OK);
    CHECK(text(*call, "error") == outcome.message);
    CHECK(text(*call, "refused_by") == "op");
    CHECK(runs == 0);
  }

  TEST_CASE("the steps name each type that is asked, and the types are in order") {
    const TensorRef x = object("ExplainHandler");
    const Json call = explained("explain.scale", {tensor_value(x.get())});
    CHECK(call->get("types").children()[0].as_string() == "ExplainHandler");
    REQUIRE(call->get("steps").size() == 1);
    const tenon_json& step = call->get("steps").children()[0];
    CHECK(text(step, "what") == "handler of ExplainHandler");
    CHECK(step.get("asked").as_bool());
    CHECK(text(call->get("answer"), "what") == "handler of ExplainHandler");
  }

  TEST_CASE("a type that nothing handles is refused") {
    const TensorRef x = object("ExplainBare");
    const Json call = explained("explain.scale", {tensor_value(x.get())});
    CHECK(text(*call, "kind") == "TypeError");
    CHECK(text(*call, "refused_by") == "types");
    CHECK(call->find("answer") == nullptr);
  }

  TEST_CASE("a call by types reads no operand") {
    const tenon_operand_type handled{types().find("ExplainHandler")->id, TENON_DTYPE_NONE};
    tenon_written_argument x{}, by{};
    x.operands = &handled;
    x.operand_count = 1;
    by.keyword = {"by", 2};
    by.value = integer(3);
    const tenon_written_argument arguments[] = {x, by};
    runs = 0;
    const Json call = explain_call(op("explain.scale"), arguments);
    CHECK(runs == 0);
    const auto listed = call->get("arguments").children();
    CHECK(text(listed[0], "value") == "ExplainHandler f32[1]");
    CHECK(text(listed[1], "given") == "keyword");
    CHECK(text(listed[1], "value") == "3");
    CHECK(text(call->get("answer"), "what") == "handler of ExplainHandler");
  }

  TEST_CASE("a call by types of an unknown id is refused") {
    const tenon_operand_type unknown{UINT32_MAX, TENON_DTYPE_NONE};
    tenon_written_argument x{};
    x.operands = &unknown;
    x.operand_count = 1;
    CHECK_THROWS_AS(explain_call(op("explain.scale"), std::span(&x, 1)), Error);
  }
}
