// Calls that providers decline: who runs them, and what is said of it.
#include <algorithm>
#include <random>

#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/call/trace.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// A provider that takes the numbers of which a bit is set.
struct Provider {
  int64_t number = 0;
  uint32_t takes = ~0u;
  int64_t asked = 0;
};

tenon_status run_number(void* self, tenon_context*, const tenon_value*, tenon_value* results,
                        tenon_error**) {
  results[0] = integer(static_cast<Provider*>(self)->number);
  return TENON_OK;
}
const char* decline_number(void* self, const tenon_value* arguments) {
  auto& provider = *static_cast<Provider*>(self);
  ++provider.asked;
  return (provider.takes >> arguments[0].as.integer & 1u) != 0 ? nullptr : "not this number";
}

tenon_op_descriptor number_op(const std::string& schema, Provider& provider, bool declines) {
  tenon_op_descriptor op = descriptor(schema.c_str(), run_number);
  op.self = &provider;
  if (declines) {
    op.declines = decline_number;
    op.flags = TENON_OP_MAY_DECLINE;
  }
  return op;
}

int64_t number_of(const tenon_op* op, int64_t argument) {
  Outcome outcome;
  call(outcome, op, {integer(argument)});
  REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.message);
  return outcome.results[0].as.integer;
}

// An op of tensors: the first provider declines more than two elements.
tenon_status run_scaled(void* self, tenon_context*, const tenon_value* arguments,
                        tenon_value* results, tenon_error**) {
  const auto factor = static_cast<float>(static_cast<Provider*>(self)->number);
  const Tensor& input = *arguments[0].as.tensor;
  TensorRef made = make_empty(TENON_F32, input.shape());
  for (int64_t i = 0; i < input.view.count; ++i)
    static_cast<float*>(made->view.data)[i] =
        static_cast<const float*>(input.view.data)[i] * factor;
  results[0] = tensor_value(made.give());
  return TENON_OK;
}
const char* decline_large(void*, const tenon_value* arguments) {
  return arguments[0].as.tensor->view.count > 2 ? "more than 2 elements" : nullptr;
}
struct TensorOps {
  Registry registry;
  Provider first{10}, second{100};
  const tenon_op* op = nullptr;

  explicit TensorOps(const char* schema = "t.scaled(Tensor input) -> Tensor") {
    const auto commit = [&](const std::string& plugin, Provider& provider, bool declines) {
      tenon_op_descriptor made = descriptor(schema, run_scaled);
      made.self = &provider;
      if (declines) {
        made.declines = decline_large;
        made.flags = TENON_OP_MAY_DECLINE;
      }
      const tenon_op_descriptor* pointer = &made;
      registry.commit(plugin, {&pointer, 1}, nullptr, {{"t.scaled", {"first", "second"}}});
    };
    commit("second", second, false);
    commit("first", first, true);
    op = registry.find("t.scaled");
  }
};

tenon_value value_of(const TensorRef& tensor) {
  tenon_value value{};
  value.tag = TENON_VALUE_TENSOR;
  value.as.tensor = tensor.get();
  return value;
}

}  // namespace

TEST_SUITE("dispatch/providers") {
  TEST_CASE("the next provider runs what the first declines") {
    const TensorOps ops;
    const TensorRef small = floats({1, 2}), large = floats({1, 2, 3});
    Outcome taken, passed;
    call(taken, ops.op, {value_of(small)});
    CHECK(read(*taken.tensor()) == std::vector<float>{10, 20});
    call(passed, ops.op, {value_of(large)});
    CHECK(read(*passed.tensor()) == std::vector<float>{100, 200, 300});
    CHECK(ops.registry.reason_declined("t.scaled", "first") == "more than 2 elements");
    CHECK(ops.registry.reason_declined("t.scaled", "second").empty());
    CHECK(ops.registry.reason_declined("t.other", "first").empty());
  }

  TEST_CASE("when all decline the error names each with its reason") {
    Registry registry;
    Provider a{1, 0}, b{2, 0};
    const std::string schema = "t.number(int i) -> int";
    const tenon_op_descriptor ops[] = {number_op(schema, a, true), number_op(schema, b, true)};
    const Registry::Ranked ranked{{"t.number", {"a", "b"}}};
    const tenon_op_descriptor* pointer = &ops[0];
    registry.commit("a", {&pointer, 1}, nullptr, ranked);
    pointer = &ops[1];
    registry.commit("b", {&pointer, 1}, nullptr, ranked);
    Outcome outcome;
    call(outcome, registry.find("t.number"), {integer(3)});
    CHECK(outcome.status == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(has(outcome.message,
              "number(): every provider of op 't.number' declined these arguments (plugin 'a': not "
              "this number; plugin 'b': not this number); pass others"));
    CHECK(has(outcome.message, "`tenon show t.number` lists its providers"));
    CHECK(outcome.op == "t.number");
  }

  TEST_CASE("shapes alone are computed by the provider that would run") {
    TensorOps ops;
    int64_t multiply_adds = 0;
    const TensorRef large = floats({1, 2, 3});
    std::vector<std::string> lines;
    TraceEntry* trace = enter_trace(
        false,
        [](void* self, const char* line, int64_t length) {
          static_cast<std::vector<std::string>*>(self)->emplace_back(line, length);
        },
        &lines);
    int64_t* const before = set_shapes_only(&multiply_adds);
    Outcome outcome;
    call(outcome, ops.op, {value_of(large)});
    set_shapes_only(before);
    leave_trace(trace);
    CHECK(outcome.tensor()->view.count == 3);
    REQUIRE(lines.size() >= 3);
    CHECK(lines[1] == "  declined: more than 2 elements (plugin first)");
    CHECK(lines[2] == "  shapes of t.scaled (plugin second)");
  }

  TEST_CASE(
      "a preference has another provider asked first, and only for the calls that it is about") {
    TensorOps ops;
    ops.registry.set_preferences(
        {{"t.scaled", {{"second", {{"input", ShapeClass("f32[1]")}}, "config 'c'"}}}});
    const auto result = [&](std::initializer_list<float> values) {
      const TensorRef input = floats(values);
      Outcome outcome;
      call(outcome, ops.op, {value_of(input)});
      return read(*outcome.tensor());
    };
    CHECK(result({1}) == std::vector<float>{100});
    CHECK(ops.registry.reason_declined("t.scaled", "first") ==
          "config 'c' prefers 'second' where input is f32[1]");
    CHECK(result({1, 2}) == std::vector<float>{10, 20});
    CHECK(result({1, 2, 3}) == std::vector<float>{100, 200, 300});
    ops.registry.set_preferences({});
    CHECK(result({1}) == std::vector<float>{10});
  }

  TEST_CASE("a preferred one may decline: then the others are asked in their order") {
    Registry registry;
    Provider a{1, ~0u}, b{2, 0}, c{3, ~0u};
    const std::string schema = "t.number(int i) -> int";
    const tenon_op_descriptor made[] = {number_op(schema, a, true), number_op(schema, b, true),
                                        number_op(schema, c, false)};
    const Registry::Ranked ranked{{"t.number", {"a", "b", "c"}}};
    const char* ids[] = {"a", "b", "c"};
    for (int i = 0; i < 3; ++i) {
      const tenon_op_descriptor* pointer = &made[i];
      registry.commit(ids[i], {&pointer, 1}, nullptr, ranked);
    }
    registry.set_preferences({{"t.number", {{"b", {}, "config 'c'"}}}});
    CHECK(number_of(registry.find("t.number"), 3) == 1);
    CHECK(b.asked == 1);
    a.takes = 0;
    CHECK(number_of(registry.find("t.number"), 3) == 3);
    CHECK(b.asked == 2);
    registry.set_preferences({{"t.number", {{"gone", {}, "config 'c'"}}}});
    CHECK(number_of(registry.find("t.number"), 3) == 3);
  }

  TEST_CASE(
      "preferences are there for what is registered after them, and reach one that takes all "
      "calls") {
    Registry registry;
    Provider a{1}, b{2};
    const std::string schema = "t.number(int i) -> int";
    const tenon_op_descriptor made[] = {number_op(schema, a, false), number_op(schema, b, false)};
    registry.set_preferences({{"t.number", {{"b", {}, "config 'c'"}}}});
    const Registry::Ranked ranked{{"t.number", {"a", "b"}}};
    const tenon_op_descriptor* pointer = &made[0];
    registry.commit("a", {&pointer, 1}, nullptr, ranked);
    pointer = &made[1];
    registry.commit("b", {&pointer, 1}, nullptr, ranked);
    CHECK(number_of(registry.find("t.number"), 3) == 2);
    registry.set_preferences({});
    CHECK(number_of(registry.find("t.number"), 3) == 1);
  }

  TEST_CASE("any number of providers, in any order of registration: the first that takes it runs") {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
      Registry registry;
      const auto count = 1 + random() % 6;
      std::vector<Provider> providers(count);
      std::vector<std::string> ids;
      for (size_t i = 0; i < count; ++i) {
        providers[i] = {static_cast<int64_t>(i), static_cast<uint32_t>(random() & random()), 0};
        ids.push_back("p" + std::to_string(i));
      }
      const bool last_takes_all = random() % 2 == 0;
      if (last_takes_all) providers.back().takes = ~0u;
      const std::string schema =
          random() % 2 == 0 ? "t.n(int i) -> int" : "t.n(int i, int[2] j=[1, 2]) -> int";
      std::vector<size_t> order(count);
      for (size_t i = 0; i < count; ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), random);
      for (const size_t i : order) {
        const tenon_op_descriptor made =
            number_op(schema, providers[i], !last_takes_all || i + 1 < count);
        const tenon_op_descriptor* pointer = &made;
        registry.commit(ids[i], {&pointer, 1}, nullptr, {{"t.n", ids}});
      }
      const tenon_op* op = registry.find("t.n");
      for (int64_t argument = 0; argument < 32; ++argument) {
        const auto takes = std::ranges::find_if(providers, [&](const Provider& provider) {
          return (provider.takes >> argument & 1u) != 0;
        });
        if (takes != providers.end()) {
          CHECK(number_of(op, argument) == takes->number);
          continue;
        }
        Outcome outcome;
        call(outcome, op, {integer(argument)});
        CHECK(outcome.status == TENON_ERROR_NOT_IMPLEMENTED);
      }
      // Each is asked once for each call that reaches it.
      int64_t reached = 32;
      for (size_t i = 0; i < count && reached > 0; ++i) {
        if (!last_takes_all || i + 1 < count) CHECK(providers[i].asked == reached);
        for (int64_t argument = 0; argument < 32; ++argument) {
          const auto before =
              std::any_of(providers.begin(), providers.begin() + static_cast<ptrdiff_t>(i),
                          [&](const Provider& p) { return (p.takes >> argument & 1u) != 0; });
          if (!before && (providers[i].takes >> argument & 1u) != 0) --reached;
        }
      }
    }
  }
}
