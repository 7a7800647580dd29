// Which calls leave a node, where it leads, and what cannot be recorded.
#include "core/autograd/engine/engine.hpp"
#include "core/autograd/graph/op_node.hpp"
#include "core/autograd/record/tracked.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// Twice the first operand; the second result is a number.
tenon_status twice(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                   tenon_error**) {
  results[0] = tensor_value(scaled(*arguments[0].as.tensor, 2).give());
  return TENON_OK;
}
tenon_status twice_in_place(void*, tenon_context*, const tenon_value* arguments,
                            tenon_value* results, tenon_error**) {
  Tensor& tensor = *arguments[0].as.tensor;
  auto* data = static_cast<float*>(tensor.view.data);
  for (int64_t i = 0; i < tensor.view.count; ++i) data[i] *= 2;
  results[0] = tensor_value(TensorRef(&tensor).give());
  return TENON_OK;
}
// The first of the operands, which it changes; counts how often it runs.
int list_runs = 0;
tenon_status twice_of_list(void* self, tenon_context* context, const tenon_value* arguments,
                           tenon_value* results, tenon_error** error) {
  ++list_runs;
  return twice_in_place(self, context, arguments, results, error);
}
tenon_status with_number(void* self, tenon_context* context, const tenon_value* arguments,
                         tenon_value* results, tenon_error** error) {
  results[1] = integer(5);
  return twice(self, context, arguments, results, error);
}
tenon_status twice_rule(void*, tenon_context* context, tenon_tensor* const* gradients, int64_t,
                        tenon_error**) {
  Answer& answer = *context->rule->answer;
  answer.resize(static_cast<size_t>(context->rule->slot_count()));
  answer[0] = scaled(*gradients[0], 2);
  context->rule->answered = true;
  return TENON_OK;
}

struct Ops {
  Ops() {
    tenon_op_descriptor ops[] = {
        descriptor("t.twice(Tensor x, Tensor? other=None) -> Tensor", twice),
        descriptor("t.twice_(Tensor(a!) x) -> Tensor(a!)", twice_in_place),
        descriptor("t.number(Tensor x) -> (Tensor, int)", with_number),
        descriptor("t.plain(Tensor x) -> Tensor", twice),
        descriptor("t.wrap(Tensor x) -> Tensor", wrap),
        descriptor("t.with_list_(Tensor(a!) x, Tensor[] list) -> Tensor(a!)", twice_of_list),
    };
    ops[5].saves = "list";
    for (tenon_op_descriptor* op : {&ops[0], &ops[1], &ops[2], &ops[5]}) {
      op->differentiable = TENON_DIFFERENTIABLE_FORMULA;
      op->backward = twice_rule;
    }
    ops[4].differentiable = TENON_DIFFERENTIABLE_COMPOSITE;
    ops[4].self = this;
    std::vector<const tenon_op_descriptor*> pointers;
    for (const tenon_op_descriptor& op : ops) pointers.push_back(&op);
    registry.commit("recorder", pointers);
  }
  static tenon_status wrap(void* self, tenon_context*, const tenon_value* arguments,
                           tenon_value* results, tenon_error** error) {
    return call_op(static_cast<Ops*>(self)->registry.find("t.twice"), arguments, 1, results, error);
  }
  const tenon_op* operator[](const char* name) const { return registry.find(name); }
  Registry registry;
};

Node* node_of(const Outcome& outcome) { return static_cast<Node*>(outcome.tensor()->node); }

}  // namespace

TEST_SUITE("autograd/record") {
  TEST_CASE("a call on what requires grad leaves a node that leads to its operands") {
    const Ops ops;
    const TensorRef x = leaf({1, 2}), other = floats({3});
    Outcome outcome;
    call(outcome, ops["t.twice"], {tensor_value(x.get()), tensor_value(other.get())});
    CHECK(read(*outcome.tensor()) == std::vector<float>{2, 4});
    Node* const node = node_of(outcome);
    REQUIRE(node != nullptr);
    CHECK(node->name() == std::string("TwiceBackward0"));
    REQUIRE(node->edges().size() == 2);
    CHECK(node->edges()[0].node.get() == gradient_edge(*x).node.get());
    CHECK_FALSE(node->edges()[1].node);
    CHECK(outcome.tensor()->requires_grad());
  }

  TEST_CASE("what requires no grad, or is called where nothing is recorded, leaves none") {
    const Ops ops;
    const TensorRef x = leaf({1}), constant = floats({1});
    Outcome plain;
    call(plain, ops["t.twice"], {tensor_value(constant.get())});
    CHECK(node_of(plain) == nullptr);
    const GradModeGuard no_grad(false);
    Outcome outcome;
    call(outcome, ops["t.twice"], {tensor_value(x.get())});
    CHECK(node_of(outcome) == nullptr);
    CHECK_FALSE(outcome.tensor()->requires_grad());
  }

  TEST_CASE("results that are not tensors have no history") {
    const Ops ops;
    const TensorRef x = leaf({1});
    Outcome outcome;
    call(outcome, ops["t.number"], {tensor_value(x.get())});
    REQUIRE(node_of(outcome) != nullptr);
    CHECK(outcome.results[1].as.integer == 5);
    CHECK(node_of(outcome)->outputs()[1].dtype == TENON_DTYPE_NONE);
  }

  TEST_CASE("a composite leaves the nodes of the ops that it calls") {
    const Ops ops;
    const TensorRef x = leaf({1});
    Outcome outcome;
    call(outcome, ops["t.wrap"], {tensor_value(x.get())});
    REQUIRE(node_of(outcome) != nullptr);
    CHECK(node_of(outcome)->name() == std::string("TwiceBackward0"));
  }

  TEST_CASE("an op that cannot be differentiated is refused before it runs, naming it") {
    const Ops ops;
    const TensorRef x = leaf({1});
    Outcome outcome;
    call(outcome, ops["t.plain"], {tensor_value(x.get())});
    CHECK(outcome.status == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(has(outcome.message, "[t.plain::backward] not implemented"));
    CHECK(outcome.op == "t.plain");
  }

  TEST_CASE(
      "what would have to be saved and cannot, in a list too, is refused before the op runs") {
    const Ops ops;
    const TensorRef x = leaf({1}), saved = floats({3});
    Outcome changed;
    call(changed, ops["t.twice"], {tensor_value(x.get())});
    saved->view.flags |= TENON_TENSOR_INFERENCE;
    Tensor* const list[] = {saved.get()};
    tenon_value given{};
    given.tag = TENON_VALUE_TENSOR_LIST;
    given.length = 1;
    given.as.tensors = list;
    list_runs = 0;
    Outcome outcome;
    call(outcome, ops["t.with_list_"], {tensor_value(changed.tensor()), given});
    CHECK(has(outcome.message, "Inference tensors cannot be saved for backward"));
    CHECK(list_runs == 0);
    CHECK(read(*changed.tensor()) == std::vector<float>{2});
  }

  TEST_CASE("a change in place moves the tensor behind the node, and a leaf is refused") {
    const Ops ops;
    const TensorRef x = leaf({1, 3});
    Outcome copied, changed, refused;
    call(copied, ops["t.twice"], {tensor_value(x.get())});
    Node* const before = node_of(copied);
    call(changed, ops["t.twice_"], {tensor_value(copied.tensor())});
    CHECK(changed.tensor() == copied.tensor());
    CHECK(read(*changed.tensor()) == std::vector<float>{4, 12});
    CHECK(std::string(node_of(changed)->name()) == "TwiceBackward0");
    CHECK(node_of(changed)->edges()[0].node.get() == before);
    call(refused, ops["t.twice_"], {tensor_value(x.get())});
    CHECK(has(refused.message, "a leaf tensor that requires grad"));
    CHECK(read(*x) == std::vector<float>{1, 3});
  }

  TEST_CASE("gradients go back through chains of recorded calls of any length") {
    const Ops ops;
    for (const int length : {1, 3, 10}) {
      const TensorRef x = leaf({1});
      TensorRef y = x;
      for (int i = 0; i < length; ++i) {
        Outcome outcome;
        call(outcome, ops["t.twice"], {tensor_value(y.get())});
        y = TensorRef(outcome.tensor());
      }
      Tensor* const roots[] = {y.get()};
      Tensor* const seeds[] = {nullptr};
      run_backward(roots, seeds, nullptr, {});
      CHECK(read(*grad_of(*x)) == std::vector<float>{static_cast<float>(1 << length)});
    }
  }
}
