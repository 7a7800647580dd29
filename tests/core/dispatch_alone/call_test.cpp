// Calls in a program of the areas base, tensor and dispatch: that it links shows that dispatch
// needs nothing of autograd, nor of what is above that.
#include "core/dispatch/call/call.hpp"

#include "core/dispatch/types/modes.hpp"
#include "core/dispatch/types/plan.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "tests/core/dispatch/support.hpp"
#include "tests/core/dispatch_alone/assembly.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// The input times the factor and the number of the provider, which `self` points to.
tenon_status run_scale(void* self, tenon_context*, const tenon_value* arguments,
                       tenon_value* results, tenon_error**) {
  const TensorRef input = contiguous_copy(*arguments[0].as.tensor, TENON_F32);
  const auto factor = static_cast<float>(arguments[1].as.number * *static_cast<const int*>(self));
  for (int64_t i = 0; i < input->view.count; ++i)
    static_cast<float*>(input->view.data)[i] *= factor;
  results[0] = tensor_value(TensorRef(input).give());
  return TENON_OK;
}
const char* decline_large(void*, const tenon_value* arguments) {
  return arguments[0].as.tensor->view.count > 2 ? "more than 2 elements" : nullptr;
}

// Two providers of one op: `small` declines more than two elements, `any` takes them all unless the
// test has it decline, too.
struct Ops {
  explicit Ops(bool any_declines = false) {
    commit("any", any, any_declines);
    commit("small", small, true);
    scale = registry.find("t.scale");
    REQUIRE(scale != nullptr);
  }
  void commit(const std::string& provider, const int& number, bool declines) {
    tenon_op_descriptor op =
        descriptor("t.scale(Tensor input, float factor=2.0) -> Tensor", run_scale);
    op.self = const_cast<int*>(&number);
    if (declines) {
      op.declines = decline_large;
      op.flags = TENON_OP_MAY_DECLINE;
    }
    const tenon_op_descriptor* const pointer = &op;
    registry.commit(provider, {&pointer, 1}, nullptr, {{"t.scale", {"small", "any"}}});
  }
  const int small = 1, any = 100;
  Registry registry;
  const tenon_op* scale = nullptr;
};

tenon_status answer_seven(void*, const tenon_call*, tenon_value* results, tenon_error**) {
  results[0] = tensor_value(floats({7}).give());
  return TENON_OK;
}
tenon_status decline(void*, const tenon_call*, tenon_value* results, tenon_error**) {
  results[0].tag = TENON_VALUE_NOT_IMPLEMENTED;
  return TENON_OK;
}
tenon_status pass_on(void* self, const tenon_call* call, tenon_value* results,
                     tenon_error** error) {
  ++*static_cast<int*>(self);
  return call_parent(call, nullptr, results, error);
}

// A type of the process's table, which stays.
uint32_t add_type(const char* name, const char* parent, tenon_handler_function handler) {
  tenon_type_descriptor type{};
  type.size = sizeof type;
  type.name = name;
  type.parent = parent;
  type.handler = handler;
  const tenon_type_descriptor* const pointer = &type;
  TypeTable& table = TypeTable::process();
  table.commit(table.prepare("provider", {&pointer, 1}, {}, {}, {}, {}));
  return table.find(name)->id;
}

}  // namespace

TEST_SUITE("dispatch_alone/call") {
  TEST_CASE("an op of a test's own table computes, with defaults and with converted arguments") {
    const Ops ops;
    const TensorRef x = floats({1, 2});
    Outcome usual, converted;
    call(usual, ops.scale, {tensor_value(x.get())});
    CHECK(read(*usual.tensor()) == std::vector<float>{2, 4});
    call(converted, ops.scale, {tensor_value(x.get()), integer(3)});
    CHECK(read(*converted.tensor()) == std::vector<float>{3, 6});
  }

  TEST_CASE("an argument that the schema does not take is refused with op and provider") {
    const Ops ops;
    Outcome outcome;
    call(outcome, ops.scale, {integer(1)});
    CHECK(outcome.status == TENON_ERROR_TYPE);
    CHECK(outcome.message == "scale(): argument 'input' (position 1) must be Tensor, not int");
    CHECK(outcome.op == "t.scale");
    CHECK(outcome.provider == "small");
  }

  TEST_CASE("what the first provider declines is run by the next one, and by none raises") {
    const TensorRef x = floats({1, 2, 3});
    const Ops ops;
    Outcome outcome;
    call(outcome, ops.scale, {tensor_value(x.get()), number(1)});
    CHECK(read(*outcome.tensor()) == std::vector<float>{100, 200, 300});
    const Ops declining(true);
    Outcome refused;
    call(refused, declining.scale, {tensor_value(x.get())});
    CHECK(refused.status == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(has(refused.message, "plugin 'any': more than 2 elements"));
  }

  TEST_CASE("a mode sees the call and passes it on") {
    const Ops ops;
    const TensorRef x = floats({1});
    int seen = 0;
    ModeEntry* const mode = enter_mode("count", pass_on, &seen, false);
    Outcome outcome;
    call(outcome, ops.scale, {tensor_value(x.get())});
    leave_mode(mode);
    CHECK(seen == 1);
    CHECK(read(*outcome.tensor()) == std::vector<float>{2});
  }

  TEST_CASE("the handler of an operand's type answers, and a call that it declines raises") {
    const Ops ops;
    const TensorRef answered =
        make_dataless(TENON_F32, {}, add_type("Answering", nullptr, answer_seven));
    Outcome outcome;
    call(outcome, ops.scale, {tensor_value(answered.get())});
    CHECK(read(*outcome.tensor()) == std::vector<float>{7});
    const TensorRef declined =
        make_dataless(TENON_F32, {}, add_type("Declining", nullptr, decline));
    Outcome refused;
    call(refused, ops.scale, {tensor_value(declined.get())});
    CHECK(refused.status == TENON_ERROR_TYPE);
    CHECK(has(refused.message, "Declining"));
  }

  TEST_CASE("a subclass of Tensor without a handler computes as a tensor, and its result is one") {
    const Ops ops;
    const uint32_t type = add_type("Tagged", "Tensor", nullptr);
    const TensorRef x = floats({1, 2});
    set_type(*x, type, nullptr);
    Outcome outcome;
    call(outcome, ops.scale, {tensor_value(x.get())});
    CHECK(outcome.tensor()->view.type == type);
    CHECK(read(*outcome.tensor()) == std::vector<float>{2, 4});
  }

  TEST_CASE("only a call that needs gradients reaches the layer in autograd's place") {
    const Ops ops;
    const TensorRef x = floats({1});
    const int64_t before = calls_to_record;
    Outcome plain, recorded;
    call(plain, ops.scale, {tensor_value(x.get())});
    CHECK(calls_to_record == before);
    x->view.flags |= TENON_TENSOR_REQUIRES_GRAD;
    call(recorded, ops.scale, {tensor_value(x.get())});
    CHECK(calls_to_record == before + 1);
    CHECK(read(*recorded.tensor()) == std::vector<float>{2});
  }
}
