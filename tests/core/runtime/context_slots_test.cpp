// Requests of rules and forwards to their context, and refusals.
#include "tests/core/runtime/slot_support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Services& slots() { return host_services(); }

tenon_status nothing(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}
tenon_status no_rule(void*, tenon_context*, tenon_tensor* const*, int64_t, tenon_error**) {
  return TENON_OK;
}

std::unique_ptr<Implementation> op(const char* saves) {
  tenon_op_descriptor made =
      descriptor("t.two(Tensor a, Tensor[] b, int n=1) -> (Tensor, Tensor)", nothing);
  made.differentiable = TENON_DIFFERENTIABLE_FORMULA;
  made.backward = no_rule;
  made.saves = saves;
  return make_implementation(made, "test");
}

// A rule that has kept these results.
struct Rule final : RuleState {
  explicit Rule(const char* text) : text_(text) {}
  const char* phase() const override { return text_; }
  Tensor* result(int64_t index) override { return results[index].get(); }
  bool needs_gradient(int64_t slot) override { return slot == 1; }
  int64_t slot_count() override { return 2; }
  int64_t saved_count() override { return 0; }
  Tensor* saved(int64_t) override { return nullptr; }
  FunctionContext* function_context() override { return nullptr; }
  bool had_tensor(int64_t index) override { return index == 0; }
  TensorRef results[2];

 private:
  const char* text_;
};

std::string message(tenon_status status, tenon_error* error, tenon_status kind) {
  CHECK(status == kind);
  if (error == nullptr) return "";
  const std::string text = error->error.message;
  delete error;
  return text;
}
// The refusal of reading the result, or "".
std::string read_result(const tenon_context& context, int64_t index, Tensor** result,
                        tenon_status kind) {
  tenon_error* error = nullptr;
  const tenon_status status = slots().contexts.kept_result(&context, index, result, &error);
  return message(status, error, kind);
}

}  // namespace

TEST_SUITE("runtime/context_slots") {
  TEST_CASE("a result that saves keeps is read, undefined where the call had no tensor there") {
    const auto implementation = op("result1");
    Rule rule("backward");
    const tenon_context context{.implementation = implementation.get(), .rule = &rule};
    Tensor* result = nullptr;
    CHECK(read_result(context, 1, &result, TENON_OK) == "");
    CHECK(result == nullptr);
    rule.results[1] = floats({1});
    CHECK(read_result(context, 1, &result, TENON_OK) == "");
    CHECK(result == rule.results[1].get());
  }

  TEST_CASE("a backward that reads a result which saves does not name is refused") {
    const auto implementation = op("result1");
    Rule rule("backward");
    const tenon_context context{.implementation = implementation.get(), .rule = &rule};
    Tensor* result = nullptr;
    CHECK(read_result(context, 0, &result, TENON_ERROR_RUNTIME) ==
          "backward of 't.two' reads result 0, which was not kept: name it in the op's `saves`, or "
          "keep it with save_for_backward");
    Rule jvp("jvp");  // sees all results, undefined ones too
    const tenon_context forward_mode{.implementation = implementation.get(), .rule = &jvp};
    CHECK(read_result(forward_mode, 0, &result, TENON_OK) == "");
  }

  TEST_CASE("results beyond those of the op, or read in forward, are refused") {
    const auto implementation = op("result1");
    Rule rule("backward");
    const tenon_context context{.implementation = implementation.get(), .rule = &rule};
    Tensor* result = nullptr;
    CHECK(has(read_result(context, 2, &result, TENON_ERROR_INDEX), "which has 2 results"));
    CHECK(has(read_result(context, -1, &result, TENON_ERROR_INDEX), "result -1"));
    const tenon_context forward{implementation.get(), nullptr};
    CHECK(has(read_result(forward, 0, &result, TENON_ERROR_RUNTIME),
              "reading a result can be called only in backward and jvp, not in forward"));
  }

  TEST_CASE("a tensor that was not kept is refused, other arguments are read") {
    const auto implementation = op("result1");
    Rule rule("backward");
    tenon_value arguments[3] = {};
    arguments[2] = integer(5);
    const tenon_context context{
        .implementation = implementation.get(), .arguments = arguments, .rule = &rule};
    const auto argument = [&](int64_t index, tenon_status kind) {
      const tenon_value* value = nullptr;
      tenon_error* error = nullptr;
      const tenon_status status = slots().contexts.argument(&context, index, &value, &error);
      if (status == TENON_OK) CHECK(value == arguments + index);
      return message(status, error, kind);
    };
    CHECK(argument(2, TENON_OK) == "");
    CHECK(argument(1, TENON_OK) == "");
    CHECK(has(argument(0, TENON_ERROR_RUNTIME), "reads tensor 'a', which was not kept"));
    CHECK(has(argument(3, TENON_ERROR_INDEX), "which has 3 parameters"));
  }

  TEST_CASE("slots are one for each parameter and as many as a list has tensors") {
    const auto implementation = op("result1");
    const TensorRef x = floats({1});
    Tensor* const list[] = {x.get(), nullptr, x.get()};
    tenon_value arguments[3] = {};
    arguments[0] = tensor_value(x.get());
    arguments[1].tag = TENON_VALUE_TENSOR_LIST;
    arguments[1].length = 3;
    arguments[1].as.tensors = list;
    FunctionContext function;
    function.needs = 0b0101;
    const tenon_context context{
        .implementation = implementation.get(), .arguments = arguments, .function = &function};
    CHECK(slots().contexts.slot_count(&context) == 4);
    for (int64_t slot = -1; slot < 5; ++slot)
      CHECK(slots().contexts.needs_gradient(&context, slot) == (slot == 0 || slot == 2 ? 1 : 0));
    CHECK(slots().contexts.needs_gradient(&context, 64) == 1);
    Rule rule("backward");
    const tenon_context of_rule{
        .implementation = implementation.get(), .arguments = arguments, .rule = &rule};
    CHECK(slots().contexts.slot_count(&of_rule) == 2);
    CHECK(slots().contexts.needs_gradient(&of_rule, 1) == 1);
    CHECK(slots().contexts.needs_gradient(&of_rule, 0) == 0);
  }
}
