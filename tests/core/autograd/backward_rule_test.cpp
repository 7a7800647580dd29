// The node as a rule sees it, by runs of nodes of an op.
#include "core/autograd/graph/backward_rule.hpp"

#include "core/autograd/engine/engine.hpp"
#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status nothing(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}

// The body of a test's rule, called with its context.
using Rule = std::function<void(tenon_context&, std::span<Tensor*>)>;
Rule next_rule;
tenon_status run_rule(void*, tenon_context* context, tenon_tensor* const* gradients, int64_t count,
                      tenon_error** error) {
  return guarded(error, [&] {
    next_rule(*context, {const_cast<Tensor**>(gradients), static_cast<size_t>(count)});
    context->rule->answer->resize(static_cast<size_t>(context->rule->slot_count()));
    context->rule->answered = true;
  });
}

// A node of "t.mix(Tensor a, Tensor b, int n=1) -> Tensor" with an edge for `a`.
struct Mix {
  explicit Mix(uint32_t flags = 0) {
    tenon_op_descriptor op = descriptor("t.mix(Tensor a, Tensor b, int n=1) -> Tensor", nothing);
    op.flags = flags;
    op.differentiable = TENON_DIFFERENTIABLE_FORMULA;
    op.backward = run_rule;
    implementation = make_implementation(op, "test");
    implementation->op = &handle;
    const tenon_value arguments[] = {tensor_value(a.get()), tensor_value(b.get()), integer(7)};
    Tensor* const output = result.get();
    node = OpNode::create(*implementation, arguments, 2, {&output, 1}, 4);
    node->connect(0, *a);
    node->set_tensor_slots(0b11);
  }
  void run(Rule rule, BackwardCall call = {}) {
    next_rule = std::move(rule);
    Tensor* const given = gradient.get();
    Answer answer;
    node->apply({&given, 1}, answer, call);
  }
  tenon_op handle{"t.mix"};
  std::unique_ptr<Implementation> implementation;
  TensorRef a = leaf({1, 2}), b = floats({3, 4}), result = floats({5, 6}),
            gradient = floats({1, 1});
  IntrusivePtr<OpNode> node;
};

struct Reaching final : EngineRun {
  explicit Reaching(const Node* target) : target_(target) {}
  int64_t id() override { return 1; }
  bool reaches(const Node& node) override { return &node == target_; }
  void keep(const void*, std::vector<TensorRef>) override {}
  std::optional<std::vector<TensorRef>> take(const void*) override { return std::nullopt; }
  const Node* running() override { return nullptr; }

 private:
  const Node* target_;
};

}  // namespace

TEST_SUITE("autograd/backward_rule") {
  TEST_CASE("saved arguments are in their places, other tensors are none") {
    Mix mix;
    mix.node->save(SavedTensor::Kind::Argument, 1, mix.b.get());
    mix.run([&](tenon_context& context, std::span<Tensor*>) {
      CHECK(context.arguments[0].tag == TENON_VALUE_NONE);
      CHECK(context.arguments[1].as.tensor == mix.b.get());
      CHECK(context.arguments[2].as.integer == 7);
      CHECK(context.rule->had_tensor(0));
      CHECK(context.rule->had_tensor(1));
      CHECK_FALSE(context.rule->had_tensor(2));
      CHECK_FALSE(context.rule->had_tensor(-1));
    });
  }

  TEST_CASE("a result is read where it was saved") {
    Mix mix;
    mix.node->save(SavedTensor::Kind::Result, 0, mix.result.get());
    mix.run([&](tenon_context& context, std::span<Tensor*>) {
      REQUIRE(context.rule->result(0) != nullptr);
      CHECK(context.rule->result(0)->view.data == mix.result->view.data);
      CHECK(context.rule->result(1) == nullptr);
    });
  }

  TEST_CASE("listed tensors are read by their position in the list") {
    Mix mix;
    mix.node->save(SavedTensor::Kind::Argument, 1, mix.b.get());
    mix.node->save(SavedTensor::Kind::Listed, 0, mix.a.get());
    mix.node->save(SavedTensor::Kind::Listed, 0, nullptr);
    mix.node->set_function(std::make_unique<FunctionContext>());
    mix.run([&](tenon_context& context, std::span<Tensor*>) {
      CHECK(context.rule->saved_count() == 2);
      CHECK(context.rule->saved(0) == mix.a.get());
      CHECK(context.rule->saved(1) == nullptr);
      CHECK(has(refusal([&] { context.rule->saved(2); }, TENON_ERROR_INDEX),
                "MixBackward0 reads saved tensor 2, but forward saved 2 tensors; save it too"));
      CHECK(has(refusal([&] { context.rule->saved(-1); }, TENON_ERROR_INDEX), "saved tensor -1"));
      CHECK(context.rule->function_context() != nullptr);
    });
  }

  TEST_CASE("a slot needs a gradient where an edge leads to what the run asks for") {
    Mix mix;
    const auto needs = [&](BackwardCall call) {
      std::vector<bool> found;
      mix.run(
          [&](tenon_context& context, std::span<Tensor*>) {
            CHECK(context.rule->slot_count() == 2);
            for (const int64_t slot : {0, 1, 2, -1})
              found.push_back(context.rule->needs_gradient(slot));
          },
          call);
      return found;
    };
    CHECK(needs({}) == std::vector<bool>{true, false, false, false});
    Reaching none(nullptr), all(gradient_edge(*mix.a).node.get());
    BackwardCall call;
    call.run = &none;
    CHECK(needs(call) == std::vector<bool>{false, false, false, false});
    call.run = &all;
    CHECK(needs(call) == std::vector<bool>{true, false, false, false});
    // When a change of a view is run for its base, the base's history takes the slot's place.
    call.rebased_slot = 0;
    call.rebased = nullptr;
    CHECK(needs(call) == std::vector<bool>{false, false, false, false});
  }

  TEST_CASE("the options of the run are those that the rule reads") {
    Mix mix;
    for (uint32_t bits = 0; bits < 4; ++bits) {
      BackwardCall call;
      call.retain_graph = (bits & 1) != 0;
      call.create_graph = (bits & 2) != 0;
      mix.run(
          [&](tenon_context& context, std::span<Tensor*>) {
            uint32_t expected = 0;
            if (call.retain_graph) expected |= TENON_BACKWARD_RETAIN_GRAPH;
            if (call.create_graph) expected |= TENON_BACKWARD_CREATE_GRAPH;
            CHECK(context.rule->backward_options() == expected);
          },
          call);
    }
  }

  TEST_CASE("gradients are given away once, as the caller's own where it says so") {
    Mix mix;
    const auto taken_references = [&](BackwardCall call) {
      int32_t references = 0;
      mix.run(
          [&](tenon_context& context, std::span<Tensor*> gradients) {
            std::vector<Tensor*> taken(gradients.size());
            std::vector<Tensor*> too_many(gradients.size() + 1);
            CHECK_FALSE(context.rule->take_gradients(too_many));
            REQUIRE(context.rule->take_gradients(taken));
            CHECK_FALSE(context.rule->take_gradients(taken));
            references = taken[0]->references;
            taken[0]->release();
          },
          call);
      return references;
    };
    CHECK(taken_references({}) == 2);
    Tensor* own = TensorRef(mix.gradient).give();
    BackwardCall call;
    call.owned = &own;
    CHECK(taken_references(call) == 2);  // the test's and the taken one: none was added
    CHECK(own == nullptr);
    CHECK(mix.gradient->references == 1);
  }

  TEST_CASE("a tensor that is cleared on access is read once") {
    Mix mix(TENON_OP_FUNCTION | TENON_OP_CLEAR_SAVED);
    mix.node->save(SavedTensor::Kind::Listed, 0, mix.b.get());
    mix.run([&](tenon_context& context, std::span<Tensor*>) {
      TensorRef given = context.rule->give_saved(0);
      CHECK(given.get() == mix.b.get());
      CHECK(mix.b->references == 2);
      CHECK(has(refusal([&] { context.rule->give_saved(0); }, TENON_ERROR_GRAPH),
                "saved tensor 0 of MixBackward was read before"));
    });
    CHECK(mix.b->references == 1);
  }

  TEST_CASE("in a recorded rule a saved result leads back to its node") {
    Mix mix;
    mix.node->save(SavedTensor::Kind::Result, 0, mix.result.get());
    BackwardCall call;
    call.create_graph = true;
    mix.run(
        [&](tenon_context& context, std::span<Tensor*>) {
          const Tensor* result = context.rule->result(0);
          REQUIRE(result->requires_grad());
          CHECK(result->node == mix.node.get());
        },
        call);
    mix.run([&](tenon_context& context, std::span<Tensor*>) {
      CHECK_FALSE(context.rule->result(0)->requires_grad());
    });
  }
}
