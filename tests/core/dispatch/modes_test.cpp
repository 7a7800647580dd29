// Modes: which handlers of a thread are asked, in which order, and how they end.
#include "core/dispatch/types/modes.hpp"

#include <thread>

#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status give_first(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                        tenon_error**) {
  results[0] = arguments[0];
  arguments[0].as.tensor->retain();
  return TENON_OK;
}
int notes = 0;
tenon_status note(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  ++notes;
  return TENON_OK;
}

struct Ops {
  Ops() {
    tenon_op_descriptor ops[] = {descriptor("m.first(Tensor x) -> Tensor", give_first),
                                 descriptor("m.note(Tensor x) -> ()", note),
                                 descriptor("m.fixed(Tensor x) -> Tensor", give_first),
                                 descriptor("m.wrap(Tensor x) -> Tensor", wrap)};
    ops[2].flags = TENON_OP_NOT_OVERRIDABLE;
    ops[2].not_overridable = "it is the tests'";
    ops[3].differentiable = TENON_DIFFERENTIABLE_COMPOSITE;
    ops[3].self = this;
    std::vector<const tenon_op_descriptor*> pointers;
    for (const tenon_op_descriptor& op : ops) pointers.push_back(&op);
    registry.commit("provider", pointers);
  }
  static tenon_status wrap(void* self, tenon_context*, const tenon_value* arguments,
                           tenon_value* results, tenon_error** error) {
    return call_op(static_cast<Ops*>(self)->registry.find("m.first"), arguments, 1, results, error);
  }
  void operator()(Outcome& outcome, const char* name, const TensorRef& x) const {
    call(outcome, registry.find(name), {tensor_value(x.get())});
  }
  Registry registry;
};

// A mode that notes the ops that it is asked about, and declines or answers.
std::vector<std::string> asked;
struct Mode {
  Mode(const char* mode_name, bool does_answer, bool below = false)
      : name(mode_name), answers(does_answer), entry(enter_mode(name, handle, this, below)) {}
  ~Mode() {
    if (entry != nullptr) leave_mode(entry);
  }
  static tenon_status handle(void* self, const tenon_call* call, tenon_value* results,
                             tenon_error**) {
    const auto& mode = *static_cast<Mode*>(self);
    asked.push_back(mode.name + ":" + call->op->name);
    if (!mode.answers) {
      results[0].tag = TENON_VALUE_NOT_IMPLEMENTED;
    } else if (call->op->implementation.load()->result_count == 1) {
      results[0] = tensor_value(floats({42}).give());
    }
    return TENON_OK;
  }
  std::string name;
  bool answers;
  ModeEntry* entry;
};

using List = std::vector<std::string>;

}  // namespace

TEST_SUITE("dispatch/modes") {
  TEST_CASE("modes are asked from the innermost on, until one answers") {
    const Ops ops;
    const TensorRef x = floats({1});
    asked.clear();
    {
      const Mode outer("outer", true), inner("inner", false);
      Outcome outcome;
      ops(outcome, "m.first", x);
      CHECK(read(*outcome.tensor()) == std::vector<float>{42});
      CHECK(asked == List{"inner:m.first", "outer:m.first"});
    }
    Outcome outcome;
    ops(outcome, "m.first", x);
    CHECK(outcome.tensor() == x.get());
    CHECK(asked.size() == 2);
  }

  TEST_CASE("where all modes decline the op runs, and what it calls is not shown to them") {
    const Ops ops;
    const TensorRef x = floats({1});
    const Mode mode("mode", false);
    asked.clear();
    Outcome outcome;
    ops(outcome, "m.wrap", x);
    CHECK(outcome.tensor() == x.get());
    CHECK(asked == List{"mode:m.wrap"});
  }

  TEST_CASE("below autograd modes are asked where a kernel would run") {
    const Ops ops;
    const TensorRef x = floats({1});
    const Mode mode("mode", true, true);
    asked.clear();
    Outcome outcome;
    ops(outcome, "m.wrap", x);
    CHECK(read(*outcome.tensor()) == std::vector<float>{42});
    CHECK(asked == List{"mode:m.first"});
  }

  TEST_CASE("of an op without results a mode answers also after another one has declined") {
    const Ops ops;
    const TensorRef x = floats({1});
    for (const bool below : {false, true}) {
      for (const bool outer_answers : {true, false}) {
        const Mode outer("outer", outer_answers, below), inner("inner", false, below);
        asked.clear();
        notes = 0;
        Outcome outcome;
        ops(outcome, "m.note", x);
        CHECK(outcome.status == TENON_OK);
        CHECK(asked == List{"inner:m.note", "outer:m.note"});
        CHECK(notes == (outer_answers ? 0 : 1));
      }
    }
  }

  TEST_CASE("ops that are not overridable are not shown above autograd") {
    const Ops ops;
    const TensorRef x = floats({1});
    const Mode mode("mode", true);
    asked.clear();
    Outcome outcome;
    ops(outcome, "m.fixed", x);
    CHECK(outcome.tensor() == x.get());
    CHECK(asked.empty());
  }

  TEST_CASE("a mode that is left before one inside of it is inactive, and an error") {
    const Ops ops;
    const TensorRef x = floats({1});
    Mode outer("outer", true);
    const Mode inner("inner", false);
    CHECK(
        has(refusal([&] { leave_mode(std::exchange(outer.entry, nullptr)); }, TENON_ERROR_RUNTIME),
            "mode 'outer' is left before mode 'inner'"));
    asked.clear();
    Outcome outcome;
    ops(outcome, "m.first", x);
    CHECK(asked == List{"inner:m.first"});
    CHECK(outcome.tensor() == x.get());
  }

  TEST_CASE("a mode that is left on another thread is passed over on its own") {
    const Ops ops;
    const TensorRef x = floats({1});
    Mode mode("mode", true);
    std::string text;
    std::thread([&] {
      text = refusal([&] { leave_mode(std::exchange(mode.entry, nullptr)); }, TENON_ERROR_RUNTIME);
    }).join();
    CHECK(has(text, "mode 'mode' is left on another thread"));
    asked.clear();
    Outcome outcome;
    ops(outcome, "m.first", x);
    CHECK(outcome.tensor() == x.get());
    CHECK(asked.empty());
  }
}
