// Running the candidates of a call: which it asks, what each may pass on, and what is refused. Any
// line of descent against a model of it.
//
// Types are of the process's table, which tensors' ids refer to, and stay: each test has its own.
#include <algorithm>
#include <deque>
#include <optional>
#include <random>

#include "core/dispatch/types/plan.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

constexpr const char* kUnary = "chain.unary(Tensor x) -> Tensor";
constexpr const char* kBinary = "chain.binary(Tensor x, Tensor y) -> Tensor";
constexpr const char* kScaled = "chain.scaled(Tensor x, Scalar by=1, *, int n=1) -> Tensor";
constexpr const char* kNote = "chain.note(Tensor x) -> ()";
constexpr const char* kFixed = "chain.fixed(Tensor x) -> Tensor";
constexpr const char* kAlone = "chain.alone(Tensor x) -> Tensor";

std::vector<std::string> asked;  // the steps of the last call, in order

// The action of a handler or override that is asked.
struct Step {
  std::string name;
  enum class Does { answer, decline, parent } does = Does::answer;
  int64_t answer = 0;
};
tenon_status take_step(void* self, const tenon_call* call, tenon_value* results,
                       tenon_error** error) {
  const auto& step = *static_cast<const Step*>(self);
  asked.push_back(step.name);
  switch (step.does) {
    case Step::Does::answer:
      results[0] = integer(step.answer);
      return TENON_OK;
    case Step::Does::decline:
      results[0].tag = TENON_VALUE_NOT_IMPLEMENTED;
      return TENON_OK;
    case Step::Does::parent:
      return call_parent(call, nullptr, results, error);
  }
  return TENON_ERROR_INTERNAL;
}
tenon_status run_op(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                    tenon_error**) {
  asked.push_back("op");
  results[0] = tensor_value(contiguous_copy(*arguments[0].as.tensor).give());
  return TENON_OK;
}
tenon_status note(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  asked.push_back("op");
  return TENON_OK;
}

// As long as the process, as plans and calls refer to their implementations.
const tenon_op* find_op(const char* name) {
  static const Registry& registry = [&]() -> const Registry& {
    tenon_op_descriptor ops[] = {descriptor(kUnary, run_op), descriptor(kBinary, run_op),
                                 descriptor(kScaled, run_op), descriptor(kNote, note),
                                 descriptor(kFixed, run_op)};
    ops[4].flags = TENON_OP_NOT_OVERRIDABLE;
    ops[4].not_overridable = "it is fixed";
    std::vector<const tenon_op_descriptor*> pointers;
    for (const tenon_op_descriptor& op : ops) pointers.push_back(&op);
    auto* const made = new Registry;
    made->commit("op_provider", pointers);
    return *made;
  }();
  return registry.find(name);
}

// Registrations of plugin `chain` in the process's table.
class Added {
 public:
  tenon_type_descriptor& type(const std::string& name, const char* parent = nullptr) {
    tenon_type_descriptor& made = types_.emplace_back();
    made.size = sizeof made;
    made.name = keep(name);
    made.parent = parent;
    return made;
  }
  tenon_override_descriptor& entry(const std::string& types, const char* schema = kUnary) {
    tenon_override_descriptor& made = overrides_.emplace_back();
    made.size = sizeof made;
    made.schema = schema;
    made.types = keep(types);
    made.run = take_step;
    return made;
  }
  static Step* step(std::string name, Step::Does does = Step::Does::answer, int64_t answer = 0) {
    static auto* const steps = new std::deque<Step>;
    return &steps->emplace_back(Step{std::move(name), does, answer});
  }
  static const char* keep(const std::string& text) {
    static auto* const texts = new std::deque<std::string>;
    return texts->emplace_back(text).c_str();
  }
  void commit() const {
    std::vector<const tenon_type_descriptor*> types;
    for (const auto& one : types_) types.push_back(&one);
    std::vector<const tenon_override_descriptor*> overrides;
    for (const auto& one : overrides_) overrides.push_back(&one);
    TypeTable& table = TypeTable::process();
    table.commit(
        table.prepare("chain", types, overrides,
                      [](std::string_view name) {
                        for (const char* schema : {kUnary, kBinary, kScaled, kNote, kAlone}) {
                          if (parse_schema(schema).name == name)
                            return TypeTable::OpSource{schema, "op_provider"};
                        }
                        return TypeTable::OpSource{};
                      },
                      {}, {}));
  }

 private:
  std::deque<tenon_type_descriptor> types_;
  std::deque<tenon_override_descriptor> overrides_;
};

// An object of the type; one of a subclass of Tensor has data.
TensorRef object(const std::string& type_name) {
  const TensorType& type = *TypeTable::process().find(type_name);
  if (!type.is_tensor) return make_dataless(TENON_F32, {}, type.id);
  TensorRef made = floats({1, 2});
  set_type(*made, type.id, nullptr);
  return made;
}
void call_with(Outcome& outcome, const char* op, std::initializer_list<const Tensor*> operands,
               const std::vector<tenon_value>& others = {}) {
  asked.clear();
  std::vector<tenon_value> arguments;
  for (const Tensor* operand : operands)
    arguments.push_back(tensor_value(const_cast<Tensor*>(operand)));
  arguments.insert(arguments.end(), others.begin(), others.end());
  call(outcome, find_op(op), arguments);
}

using List = std::vector<std::string>;

}  // namespace

TEST_SUITE("dispatch/chain") {
  TEST_CASE(
      "in any line of descent a call asks the first override and the first handler, and each "
      "may pass it up to the next level") {
    std::mt19937 random(5);
    for (int round = 0; round < 150; ++round) {
      struct Asked {
        size_t level;
        bool is_override;
        const Step* step;  // null: the default handler
      };
      Added added;
      const bool is_tensor = random() % 2 == 0;
      const size_t levels = 1 + random() % 4;
      std::vector<Asked> candidates;  // from the root down, each level's override last
      const std::string start = "Line" + std::to_string(round) + "L";
      int64_t answers = 0;
      const auto step = [&](const std::string& name) {
        return Added::step(name, static_cast<Step::Does>(random() % 3), ++answers);
      };
      for (size_t level = 0; level < levels; ++level) {
        const std::string name = start + std::to_string(level);
        tenon_type_descriptor& type =
            added.type(name, level > 0   ? Added::keep(start + std::to_string(level - 1))
                             : is_tensor ? "Tensor"
                                         : nullptr);
        if (random() % 2 == 0) {
          Step* const handler = step("handler " + name);
          type.handler = take_step;
          type.self = handler;
          candidates.push_back({level + 1, false, handler});
        }
        if (random() % 2 == 0) {
          Step* const override_step = step("override " + name);
          added.entry(name).self = override_step;
          candidates.push_back({level + 1, true, override_step});
        }
      }
      added.commit();
      if (is_tensor) candidates.insert(candidates.begin(), {0, false, nullptr});
      std::reverse(candidates.begin(), candidates.end());

      // The model: what is asked, and the answer, where 0 is that of the op.
      List expected;
      const auto run = [&](const auto& again, size_t index) -> std::optional<int64_t> {
        const Asked& candidate = candidates[index];
        expected.push_back(candidate.step == nullptr ? "op" : candidate.step->name);
        if (candidate.step == nullptr) return 0;
        if (candidate.step->does == Step::Does::answer) return candidate.step->answer;
        if (candidate.step->does == Step::Does::decline) return std::nullopt;
        for (size_t next = index + 1; next < candidates.size(); ++next) {
          if (candidates[next].level != candidate.level) return again(again, next);
        }
        return std::nullopt;
      };
      std::optional<int64_t> answer;
      if (!candidates.empty() && candidates.front().is_override) answer = run(run, 0);
      for (size_t i = 0; i < candidates.size() && !answer; ++i) {
        if (candidates[i].is_override) continue;
        answer = run(run, i);
        break;
      }

      const std::string leaf = start + std::to_string(levels - 1);
      const TensorRef x = object(leaf);
      Outcome outcome;
      call_with(outcome, "chain.unary", {x.get()});
      CAPTURE(round);
      CHECK(asked == expected);
      CHECK(x->references.load() == 1);
      if (!answer) {
        CHECK(outcome.status == TENON_ERROR_TYPE);
      } else if (*answer == 0) {
        CHECK(outcome.tensor()->view.type == TypeTable::process().find(leaf)->id);
      } else {
        REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.message);
        CHECK(outcome.results[0].as.integer == *answer);
      }
    }
  }

  TEST_CASE("operands of unrelated types are asked from left to right until one answers") {
    Added added;
    for (const char* name : {"LeftFirst", "RightNext"}) {
      tenon_type_descriptor& type = added.type(name);
      type.handler = take_step;
      type.self = Added::step(name, name[0] == 'L' ? Step::Does::decline : Step::Does::answer, 7);
    }
    added.commit();
    const TensorRef left = object("LeftFirst"), right = object("RightNext");
    Outcome first, second, alone;
    call_with(first, "chain.binary", {left.get(), right.get()});
    CHECK(asked == List{"LeftFirst", "RightNext"});
    CHECK(first.results[0].as.integer == 7);
    call_with(second, "chain.binary", {right.get(), left.get()});
    CHECK(asked == List{"RightNext"});
    call_with(alone, "chain.binary", {left.get(), left.get()});
    CHECK(asked == List{"LeftFirst"});
    CHECK(alone.status == TENON_ERROR_TYPE);
    CHECK(has(alone.message, "LeftFirst"));
  }

  TEST_CASE("a handler may pass other arguments up; what the op does not take is refused") {
    Added added;
    const TensorRef other = floats({5});
    static tenon_value given;
    added.type("Replacing", "Tensor").handler = [](void*, const tenon_call* call,
                                                   tenon_value* results, tenon_error** error) {
      return call_parent(call, &given, results, error);
    };
    added.commit();
    const TensorRef x = object("Replacing");
    given = tensor_value(other.get());
    Outcome replaced;
    call_with(replaced, "chain.unary", {x.get()});
    CHECK(read(*replaced.tensor()) == std::vector<float>{5});
    given = integer(3);
    Outcome refused;
    call_with(refused, "chain.unary", {x.get()});
    CHECK(refused.status == TENON_ERROR_TYPE);
    CHECK(has(refused.message, "unary(): argument 'x' (position 1) must be Tensor, not int"));
    CHECK(asked.empty());
  }

  TEST_CASE("a call is passed up only while its handler runs") {
    const tenon_call ended{};
    const std::string message = refusal(
        [&] {
          tenon_value result{};
          tenon_error* error = nullptr;
          const tenon_status status = call_parent(&ended, nullptr, &result, &error);
          if (status != TENON_OK) throw_status(status, error);
        },
        TENON_ERROR_RUNTIME);
    CHECK(has(message, "call_parent: the call is not running on this thread"));
  }

  TEST_CASE("a handler that calls its op on its own operand is refused, with those that run") {
    Added added;
    added.type("Looping").handler = [](void*, const tenon_call* call, tenon_value* results,
                                       tenon_error** error) {
      asked.push_back("Looping");
      return call_op(call->op, call->arguments, call->argument_count, results, error);
    };
    added.commit();
    const TensorRef x = object("Looping");
    Outcome outcome;
    call_with(outcome, "chain.unary", {x.get()});
    CHECK(outcome.status == TENON_ERROR_RUNTIME);
    CHECK(
        has(outcome.message,
            "unary(): endless recursion: handler of Looping for chain.unary -> handler of Looping "
            "for chain.unary; call_parent runs the next handler up"));
    CHECK(asked.size() == 1);
  }

  TEST_CASE("an error of a handler names op and plugin, and what it had given is released") {
    Added added;
    const TensorRef held = floats({1});
    static Tensor* given = held.get();
    added.type("Failing").handler = [](void*, const tenon_call*, tenon_value* results,
                                       tenon_error** error) {
      results[0] = tensor_value(TensorRef(given).give());
      *error = new tenon_error{Error(TENON_ERROR_VALUE, std::string("it is odd"))};
      return tenon_status{TENON_ERROR_VALUE};
    };
    added.commit();
    const TensorRef x = object("Failing");
    Outcome outcome;
    call_with(outcome, "chain.unary", {x.get()});
    CHECK(outcome.status == TENON_ERROR_VALUE);
    CHECK(outcome.message == "it is odd");
    CHECK(outcome.op == "chain.unary");
    CHECK(outcome.provider == "chain");
    CHECK(held->references.load() == 1);
  }

  TEST_CASE("an answer that is not a value is refused, and names who gave it") {
    Added added;
    added.type("Garbling").handler = [](void*, const tenon_call*, tenon_value* results,
                                        tenon_error**) {
      results[0].tag = TENON_VALUE_TENSOR;  // without one
      return tenon_status{TENON_OK};
    };
    added.commit();
    const TensorRef x = object("Garbling");
    Outcome outcome;
    call_with(outcome, "chain.unary", {x.get()});
    CHECK(outcome.status == TENON_ERROR_TYPE);
    CHECK(has(outcome.message, "handler of Garbling for chain.unary"));
  }

  TEST_CASE("an override gets the op's arguments by its own signature, and its own defaults") {
    static std::vector<tenon_value> seen;
    static const auto see = [](void*, const tenon_call* call, tenon_value* results, tenon_error**) {
      seen.assign(call->arguments, call->arguments + call->argument_count);
      results[0] = integer(0);
      return tenon_status{TENON_OK};
    };
    Added added;
    added.type("Signed");
    added.entry("Signed", "chain.scaled(Tensor x, float by=1.0, *, bool exact=True) -> Tensor")
        .run = see;
    added.commit();
    const TensorRef x = object("Signed");
    Outcome taken;
    call_with(taken, "chain.scaled", {x.get()}, {integer(3)});
    REQUIRE_MESSAGE(taken.status == TENON_OK, taken.message);
    REQUIRE(seen.size() == 3);
    CHECK(seen[0].as.tensor == x.get());
    CHECK(seen[1].tag == TENON_VALUE_FLOAT);
    CHECK(seen[1].as.number == 3.0);
    CHECK(seen[2].tag == TENON_VALUE_BOOL);
    CHECK(seen[2].as.integer == 1);
    // An argument of the op that it does not take must be the default.
    Outcome usual, refused;
    call_with(usual, "chain.scaled", {x.get()}, {integer(3), integer(1)});
    CHECK(usual.status == TENON_OK);
    call_with(refused, "chain.scaled", {x.get()}, {integer(3), integer(2)});
    CHECK(refused.status == TENON_ERROR_TYPE);
    CHECK(has(refused.message, "scaled() got an unexpected keyword argument 'n'"));
  }

  TEST_CASE("an op without results is answered, or declined, by whom it asks") {
    Added added;
    for (const char* name : {"Noting", "Ignoring"}) {
      tenon_type_descriptor& type = added.type(name);
      type.handler = take_step;
      type.self = Added::step(name, name[0] == 'N' ? Step::Does::answer : Step::Does::decline);
    }
    added.commit();
    Outcome noted, ignored;
    const TensorRef noting = object("Noting"), ignoring = object("Ignoring");
    call_with(noted, "chain.note", {noting.get()});
    CHECK(noted.status == TENON_OK);
    CHECK(asked == List{"Noting"});
    call_with(ignored, "chain.note", {ignoring.get()});
    CHECK(ignored.status == TENON_ERROR_TYPE);
    CHECK(asked == List{"Ignoring"});
  }

  TEST_CASE(
      "an op that must not be overridden asks no type: subclasses of Tensor compute as plain") {
    Added added;
    for (const char* name : {"FixedChild", "FixedForeign"}) {
      tenon_type_descriptor& type = added.type(name, name[5] == 'C' ? "Tensor" : nullptr);
      type.handler = take_step;
      type.self = Added::step(name);
    }
    added.commit();
    const TensorRef child = object("FixedChild"), foreign = object("FixedForeign");
    Outcome computed, refused;
    call_with(computed, "chain.fixed", {child.get()});
    CHECK(asked == List{"op"});
    CHECK(computed.tensor()->view.type == 0);
    call_with(refused, "chain.fixed", {foreign.get()});
    CHECK(refused.status == TENON_ERROR_TYPE);
    CHECK(asked.empty());
  }

  TEST_CASE("one override alone is called for the operands that it is for, or refused with why") {
    const tenon_op_descriptor op = descriptor(kAlone, run_op);
    const tenon_op_descriptor* const pointer = &op;
    Registry::process().commit("op_provider", {&pointer, 1});
    Added added;
    added.type("AloneA").handler = take_step;
    added.type("AloneB").handler = take_step;
    tenon_override_descriptor& entry = added.entry("AloneA", kAlone);
    entry.self = Added::step("override", Step::Does::answer, 9);
    added.commit();
    const Override& found = *TypeTable::process().find_override("chain.alone[AloneA]", "chain");
    const TensorRef a = object("AloneA"), b = object("AloneB");
    tenon_value result{};
    const tenon_value right[] = {tensor_value(a.get())}, wrong[] = {tensor_value(b.get())};
    asked.clear();
    call_override(found, {right}, &result);
    CHECK(result.as.integer == 9);
    CHECK(asked == List{"override"});
    CHECK(has(refusal([&] { call_override(found, {wrong}, &result); }, TENON_ERROR_TYPE),
              "override chain.alone[AloneA] from 'chain' is not for these operands: "));
    CHECK(asked.size() == 1);
  }
}
