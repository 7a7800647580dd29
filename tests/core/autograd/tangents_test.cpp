// Tangents of calls: by every kind of rule, in place, and what is refused. Programs of any ops
// against dual numbers.
#include "core/autograd/forward/tangents.hpp"

#include <optional>
#include <random>

#include "core/autograd/forward/dual.hpp"
#include "core/dispatch/call/context.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

using Floats = std::vector<float>;

// One f32 tensor of each element of the operands.
template <class Element>
tenon_status each(const tenon_value* arguments, int operands, tenon_value* results,
                  Element&& element) {
  const Tensor& first = *arguments[0].as.tensor;
  const TensorRef a = contiguous_copy(first);
  const TensorRef b = contiguous_copy(*arguments[operands - 1].as.tensor);
  TensorRef made = make_empty(TENON_F32, first.shape());
  const auto data = [](const TensorRef& tensor) { return static_cast<float*>(tensor->view.data); };
  for (int64_t i = 0; i < made->view.count; ++i) data(made)[i] = element(data(a)[i], data(b)[i]);
  results[0] = tensor_value(made.give());
  return TENON_OK;
}
tenon_status square(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                    tenon_error**) {
  return each(arguments, 1, results, [](float a, float) { return a * a; });
}
tenon_status triple(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                    tenon_error**) {
  return each(arguments, 1, results, [](float a, float) { return 3 * a; });
}
tenon_status multiply(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                      tenon_error**) {
  return each(arguments, 2, results, [](float a, float b) { return a * b; });
}
tenon_status subtract(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                      tenon_error**) {
  return each(arguments, 2, results, [](float a, float b) { return a - b; });
}
// Changes the first operand, by the second where there is one.
tenon_status double_in_place(void*, tenon_context*, const tenon_value* arguments,
                             tenon_value* results, tenon_error**) {
  core_op_kernels::add_to(*arguments[0].as.tensor, *contiguous_copy(*arguments[0].as.tensor));
  results[0] = tensor_value(TensorRef(arguments[0].as.tensor).give());
  return TENON_OK;
}
tenon_status add_in_place(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                          tenon_error**) {
  core_op_kernels::add_to(*arguments[0].as.tensor, *arguments[1].as.tensor);
  results[0] = tensor_value(TensorRef(arguments[0].as.tensor).give());
  return TENON_OK;
}

tenon_status square_backward(void*, tenon_context* context, tenon_tensor* const* given, int64_t,
                             tenon_error**) {
  const tenon_value arguments[] = {context->arguments[0], tensor_value(given[0])};
  tenon_value made{};
  each(arguments, 2, &made, [](float a, float gradient) { return 2 * a * gradient; });
  context->rule->answer->push_back(TensorRef::take(made.as.tensor));
  context->rule->answered = true;
  return TENON_OK;
}
// The answer of the tests' rule: three times the tangent, `extra` more, or of another shape.
struct Rule {
  int extra = 0;
  bool misshapen = false;
};
tenon_status triple_jvp(void* self, tenon_context* context, tenon_tensor* const* given, int64_t,
                        tenon_error**) {
  const auto& rule = *static_cast<const Rule*>(self);
  Answer& answer = *context->rule->answer;
  answer.push_back(rule.misshapen        ? floats({1, 2, 3, 4, 5})
                   : given[0] == nullptr ? TensorRef()
                                         : scaled(*given[0], 3));
  for (int i = 0; i < rule.extra; ++i) answer.push_back(floats({1}));
  context->rule->answered = true;
  return TENON_OK;
}

struct Ops {
  Ops() {
    provide_core_ops();
    const auto with = [](tenon_op_descriptor op, uint32_t kind) {
      op.jvp_kind = kind;
      return op;
    };
    tenon_op_descriptor ops[] = {
        with(descriptor("t.square(Tensor x) -> Tensor", square), TENON_JVP_POINTWISE),
        with(descriptor("t.triple(Tensor x) -> Tensor", triple), TENON_JVP_RULE),
        with(descriptor("t.mul(Tensor a, Tensor b) -> Tensor", multiply), TENON_JVP_MULTILINEAR),
        with(descriptor("t.sub(Tensor a, Tensor b) -> Tensor", subtract), TENON_JVP_LINEAR),
        with(descriptor("t.double_(Tensor(a!) x) -> Tensor(a!)", double_in_place),
             TENON_JVP_LINEAR),
        with(descriptor("t.add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", add_in_place),
             TENON_JVP_LINEAR),
        descriptor("t.ruleless(Tensor x) -> Tensor", square),
        descriptor("t.step(Tensor x) -> Tensor", square),
        with(descriptor("t.out(Tensor x, *, Tensor(a!)? out=None) -> Tensor", square),
             TENON_JVP_LINEAR),
        with(descriptor("t.once(Tensor x) -> Tensor", triple), TENON_JVP_RULE),
    };
    for (const int i : {0, 6}) {
      ops[i].differentiable = TENON_DIFFERENTIABLE_FORMULA;
      ops[i].backward = square_backward;
    }
    ops[7].flags = TENON_OP_ZERO_GRADIENT;
    for (const int i : {1, 9}) {
      ops[i].jvp = triple_jvp;
      ops[i].self = &rule;
    }
    ops[9].flags = TENON_OP_JVP_ONCE;
    std::vector<const tenon_op_descriptor*> pointers;
    for (const tenon_op_descriptor& op : ops) pointers.push_back(&op);
    registry.commit("dual", pointers);
  }
  void operator()(Outcome& outcome, const std::string& name,
                  std::initializer_list<Tensor*> operands) const {
    std::vector<tenon_value> arguments;
    for (Tensor* operand : operands) arguments.push_back(tensor_value(operand));
    call(outcome, registry.find("t." + name), arguments);
  }
  Rule rule;
  Registry registry;
};

struct Level {
  Level() { enter_dual_level(); }
  ~Level() { exit_dual_level(); }
};

// The elements of the tangent; none where there is none.
std::optional<Floats> tangent(Tensor& tensor) {
  Tensor* const found = tangent_of(tensor);
  return found == nullptr ? std::nullopt : std::optional(read(*found));
}

}  // namespace

TEST_SUITE("autograd/tangents") {
  TEST_CASE("programs of ops with every kind of rule give the tangents of dual numbers") {
    const Ops ops;
    std::mt19937 random(13);
    const auto small = [&] { return static_cast<float>(random() % 5) - 2; };
    for (int round = 0; round < 200; ++round) {
      const Level level;
      struct Dual {
        TensorRef tensor;
        Floats value;
        std::optional<Floats> tangent;
      };
      std::vector<Dual> duals;
      for (int i = 0; i < 3; ++i) {
        const Floats value = {small(), small()}, direction = {small(), small()};
        const TensorRef primal = floats({value[0], value[1]});
        if (random() % 3 == 0) {
          duals.push_back({primal, value, std::nullopt});
        } else {
          const TensorRef made = make_dual(*primal, *floats({direction[0], direction[1]}));
          duals.push_back({made, value, direction});
        }
      }
      for (int step = 0; step < 3; ++step) {
        const Dual a = duals[random() % duals.size()], b = duals[random() % duals.size()];
        const char* const names[] = {"square", "triple", "mul", "sub"};
        const size_t which = random() % 4;
        Outcome outcome;
        if (which < 2)
          ops(outcome, names[which], {a.tensor.get()});
        else
          ops(outcome, names[which], {a.tensor.get(), b.tensor.get()});
        Dual made{TensorRef(outcome.tensor()), {}, std::nullopt};
        if (a.tangent || (which >= 2 && b.tangent)) made.tangent.emplace();
        for (size_t i = 0; i < 2; ++i) {
          const float x = a.value[i], y = b.value[i];
          const float dx = a.tangent ? (*a.tangent)[i] : 0, dy = b.tangent ? (*b.tangent)[i] : 0;
          const float values[] = {x * x, 3 * x, x * y, x - y};
          const float tangents[] = {2 * x * dx, 3 * dx, x * dy + y * dx, dx - dy};
          made.value.push_back(values[which]);
          if (made.tangent) made.tangent->push_back(tangents[which]);
        }
        CAPTURE(names[which]);
        CHECK(read(*made.tensor) == made.value);
        CHECK(tangent(*made.tensor) == made.tangent);
        duals.push_back(std::move(made));
      }
    }
  }

  TEST_CASE("whether a call carries tangents is asked at the present level, of every operand") {
    const Ops ops;
    const Implementation& implementation = *ops.registry.find("t.mul")->implementation.load();
    const TensorRef plain = floats({1});
    TensorRef dual;
    const auto carries = [&](Tensor& a, Tensor& b) {
      const tenon_value arguments[] = {tensor_value(&a), tensor_value(&b)};
      return carries_tangent(implementation, arguments);
    };
    {
      const Level level;
      dual = make_dual(*plain, *floats({2}));
      CHECK(carries(*dual, *plain));
      CHECK(carries(*plain, *dual));
      CHECK_FALSE(carries(*plain, *plain));
    }
    CHECK_FALSE(carries(*dual, *plain));
  }

  TEST_CASE("a change in place changes the tangent in place, or gives one to what had none") {
    const Ops ops;
    const Level level;
    const TensorRef x = make_dual(*floats({1, 2}), *floats({3, 4})), plain = floats({5, 6});
    Tensor* const before = tangent_of(*x);
    Outcome doubled, added;
    ops(doubled, "double_", {x.get()});
    CHECK(doubled.tensor() == x.get());
    CHECK(read(*x) == Floats{2, 4});
    CHECK(tangent(*x) == Floats{6, 8});
    CHECK(tangent_of(*x) == before);
    ops(added, "add_", {plain.get(), x.get()});
    CHECK(read(*plain) == Floats{7, 10});
    CHECK(tangent(*plain) == Floats{6, 8});
    // It shares no memory with that of the other operand.
    Outcome again;
    ops(again, "double_", {plain.get()});
    CHECK(tangent(*plain) == Floats{12, 16});
    CHECK(tangent(*x) == Floats{6, 8});
  }

  TEST_CASE("an op without a jvp refuses dual operands, one that is constant gives no tangent") {
    const Ops ops;
    const Level level;
    const TensorRef x = make_dual(*floats({1}), *floats({3}));
    Outcome refused, constant;
    ops(refused, "ruleless", {x.get()});
    CHECK(refused.status == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(
        has(refused.message,
            "[t.ruleless::jvp] not implemented: op 't.ruleless' of plugin 'dual' was given a dual "
            "tensor"));
    ops(constant, "step", {x.get()});
    CHECK(tangent(*constant.tensor()) == std::nullopt);
  }

  TEST_CASE("a call into `out` is refused where an operand carries a tangent") {
    const Ops ops;
    const Level level;
    const TensorRef x = make_dual(*floats({1}), *floats({3})), out = floats({0});
    Outcome outcome;
    ops(outcome, "out", {x.get(), out.get()});
    CHECK(outcome.status == TENON_ERROR_RUNTIME);
    CHECK(
        has(outcome.message, "out(): functions with out=... arguments don't support forward mode"));
    CHECK(read(*out) == Floats{0});
  }

  TEST_CASE("a rule answers one tangent for each result, of its shape") {
    Ops ops;
    const Level level;
    const TensorRef x = make_dual(*floats({1, 2}), *floats({3, 4}));
    ops.rule.extra = 1;
    Outcome many, misshapen, good;
    ops(many, "triple", {x.get()});
    CHECK(many.status == TENON_ERROR_RUNTIME);
    CHECK(has(many.message, "incorrect number of tangents from its jvp (expected 1, got 2)"));
    ops.rule = {0, true};
    ops(misshapen, "triple", {x.get()});
    CHECK(misshapen.status == TENON_ERROR_RUNTIME);
    CHECK(has(misshapen.message, "returned an invalid tangent at index 0"));
    ops.rule = {};
    ops(good, "triple", {x.get()});
    CHECK(tangent(*good.tensor()) == Floats{9, 12});
  }

  TEST_CASE("a jvp that must not be differentiated refuses a tangent that requires grad") {
    const Ops ops;
    const Level level;
    const TensorRef direction = leaf({3});
    const TensorRef x = make_dual(*floats({1}), *direction);
    Outcome refused, unrecorded;
    ops(refused, "once", {x.get()});
    CHECK(refused.status == TENON_ERROR_RUNTIME);
    CHECK(has(refused.message, "the tangent of 'x' requires grad"));
    const GradModeGuard no_grad(false);
    ops(unrecorded, "once", {x.get()});
    CHECK(tangent(*unrecorded.tensor()) == Floats{9});
  }

  TEST_CASE("a large pointwise op computes its tangent in blocks, with the same elements") {
    const Ops ops;
    const Level level;
    const int64_t count = (int64_t{1} << 17) + 3;
    TensorRef values = make_empty(TENON_F32, {&count, 1});
    TensorRef directions = make_empty(TENON_F32, {&count, 1});
    for (int64_t i = 0; i < count; ++i) {
      static_cast<float*>(values->view.data)[i] = static_cast<float>(i % 17);
      static_cast<float*>(directions->view.data)[i] = static_cast<float>(i % 5);
    }
    const TensorRef x = make_dual(*values, *directions);
    Outcome outcome;
    ops(outcome, "square", {x.get()});
    const std::optional<Floats> found = tangent(*outcome.tensor());
    REQUIRE(found);
    REQUIRE(found->size() == static_cast<size_t>(count));
    bool same = true;
    for (int64_t i = 0; i < count; ++i)
      same &= (*found)[static_cast<size_t>(i)] == static_cast<float>(2 * (i % 17) * (i % 5));
    CHECK(same);
  }
}
