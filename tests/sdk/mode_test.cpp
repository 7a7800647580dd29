// Modes: scopes whose handlers see every op of their thread.
#include <atomic>
#include <memory>
#include <thread>

#include <tenon/listing/listing.hpp>
#include <tenon/listing/why.hpp>
#include <tenon/mode.hpp>

#include "tests/sdk/functions.hpp"
#include "tests/support/small_stack.hpp"

using namespace functions;

namespace {

// Writes down each call, then continues it.
class Log : public Mode {
 public:
  Log(std::string mode_name, std::vector<std::string>& log)
      : Mode(std::move(mode_name)), log_(log) {}
  Results tenon_function(const Call& call) override {
    log_.push_back(name + " " + call.name());
    return call.call_parent();
  }

 private:
  std::vector<std::string>& log_;
};
// Calls an op in its own handler, entered again where it says so.
class Again : public Mode {
 public:
  explicit Again(bool enter_anew) : Mode("again"), enter_anew_(enter_anew) {}
  Results tenon_function(const Call& call) override {
    ++asked;
    if (enter_anew_ && asked == 1) {
      const ModeScope scope(*this);
      ones({1});
    } else {
      ones({1});
    }
    return call.call_parent();
  }
  int asked = 0;

 private:
  bool enter_anew_;
};
class Answering : public Mode {
 public:
  Answering() : Mode("answering") {}
  Results tenon_function(const Call& call) override {
    if (call.name() == "mul") return not_implemented;
    if (call.name() == "neg") throw ValueError("mine");
    return 7;
  }
};

// Continues a call that has ended, or from a thread that is not the call's.
class Late : public Mode {
 public:
  Late() : Mode("late") {}
  Results tenon_function(const Call& call) override {
    kept = call.handle();
    std::thread([&] { elsewhere = refusal([&] { call.call_parent(); }); }).join();
    return call.call_parent();
  }
  const tenon_call* kept = nullptr;
  Refusal elsewhere;
};

}  // namespace

TEST_SUITE("sdk/mode") {
  TEST_CASE("F-232 a mode sees every op, factories included, the inner one first") {
    std::vector<std::string> log;
    Log outer("outer", log), inner("inner", log);
    {
      const ModeScope a(outer), b(inner);
      const Tensor x = ones({2});
      CHECK((x + 1).to_vector<float>() == std::vector<float>{2, 2});
    }
    ones({1});
    CHECK(log == std::vector<std::string>{"inner ones", "outer ones", "inner add", "outer add"});
  }

  TEST_CASE("F-232 a mode is not active in its own handler, and may be entered again") {
    Again once(false), twice(true);
    {
      const ModeScope scope(once);
      zeros({1});
    }
    CHECK(once.asked == 1);
    {
      const ModeScope scope(twice);
      zeros({1});
    }
    CHECK(twice.asked == 2);
  }

  TEST_CASE("a mode answers before types, with values of any kind, and may decline") {
    const Tensor scalar = tx("scalar")(2, 2.0).tensor();
    const Op add_op("add"), mul_op("mul"), neg_op("neg");
    Answering mode;
    const ModeScope scope(mode);
    CHECK(text_of(add_op(scalar, scalar)) == "7");
    CHECK(mul_op(row({2}), row({3})).tensor().item() == 6);
    // F-230
    CHECK(refusal([&] { mul_op(scalar, 3); }).text ==
          "no implementation found for 'tenon.mul' on types that implement tenon_function: "
          "[ScalarTensor] nor in mode answering");
    const Refusal thrown = refusal([&] { neg_op(row({1})); });
    CHECK(thrown.kind == TENON_ERROR_VALUE);
    CHECK(thrown.text == "mine");
  }

  TEST_CASE("a call that is kept is refused after its handler has ended, and on other threads") {
    Late late;
    {
      const ModeScope scope(late);
      CHECK(neg(row({1})).item() == -1);
    }
    CHECK(has(late.elsewhere.text, "not running on this thread"));
    tenon_value results[1] = {};
    const Refusal ended = refusal([&] {
      detail::check(service::types().call_parent, late.kept,
                    static_cast<const tenon_value*>(nullptr), results);
    });
    CHECK(ended.kind == TENON_ERROR_RUNTIME);
    CHECK(has(ended.text, "the call is not running on this thread"));
  }

  TEST_CASE("F-232 a plugin ships modes: modules that are entered") {
    load_plugin(TENON_FIXTURES "/modes.so");
    const auto made = [](const char* type, const auto&... attributes) {
      return Module::create(type, attributes...);
    };
    const Op written("modes.written");
    {
      Module log = made("modes.Log", arg("prefix") = "seen ");
      const ModeScope scope(log);
      log = {};  // the scope keeps it
      neg(ones({1}));
    }
    neg(ones({1}));
    CHECK(written().text() == "seen ones\nseen neg\n");
    {
      const ModeScope scope(made("modes.DefaultDtype", arg("dtype") = f64));
      CHECK(zeros({1}).dtype() == f64);
      CHECK(zeros({1}, f32).dtype() == f32);
      CHECK(explain(Op("zeros"), std::vector<int64_t>{1})["modes"][0].text() ==
            "modes.DefaultDtype");
    }
    CHECK(zeros({1}).dtype() == f32);
    const Refusal none = refusal([&] { const ModeScope scope(made("modes.Plain")); });
    CHECK(none.kind == TENON_ERROR_TYPE);
    CHECK(has(none.text,
              "modes.Plain cannot be entered as a mode: its type defines no tenon_function"));
    const Refusal called = refusal([&] { made("modes.Log")(ones({1})); });
    CHECK(has(called.text, "modes.Log is a mode: enter it by a ModeScope"));
    CHECK(listing::module("modes.Log")["mode"].as_bool());
    CHECK_FALSE(listing::module("modes.Plain")["mode"].as_bool());
  }

  TEST_CASE("an exception ends the scope like any other") {
    CountMode count;
    const Refusal refused = refusal([&] {
      const ModeScope scope(count);
      mm(ones({2, 3}), ones({2, 3}));
    });
    CHECK(refused.kind != TENON_OK);
    ones({1});
    CHECK(count.calls().at("ones") == 2);
    CHECK(count.calls().at("mm") == 1);
  }

  TEST_CASE("modes left in the wrong order or on another thread are inactive and reported") {
    CountMode a, b;
    auto first = std::make_unique<ModeScope>(a);
    auto second = std::make_unique<ModeScope>(b);
    const Refusal order = refusal([&] { first->leave(); });
    CHECK(order.kind == TENON_ERROR_RUNTIME);
    CHECK(has(order.text, "entered inside of it"));
    ones({1});
    CHECK(a.calls().empty());
    CHECK(b.calls().at("ones") == 1);
    Refusal elsewhere;
    std::thread([&] { elsewhere = refusal([&] { second->leave(); }); }).join();
    CHECK(elsewhere.kind == TENON_ERROR_RUNTIME);
    CHECK(has(elsewhere.text, "another thread"));
    ones({1});
    CHECK(b.calls().at("ones") == 1);
  }

  TEST_CASE("a mode left from inside the handler of one further in is inactive, and freed") {
    // Leaves the outer scope when it is asked first.
    class Leaver : public Mode {
     public:
      explicit Leaver(std::unique_ptr<ModeScope>& outer) : Mode("leaver"), outer_(outer) {}
      Results tenon_function(const Call& call) override {
        outer_.reset();
        ones({1});
        return call.call_parent();
      }

     private:
      std::unique_ptr<ModeScope>& outer_;
    };
    std::vector<std::string> log;
    Log first("first", log), last("last", log);
    const ModeScope kept(first);
    auto outer = std::make_unique<ModeScope>(last);
    {
      Leaver leaver(outer);
      const ModeScope inner(leaver);
      zeros({1});
      zeros({1});
    }
    zeros({1});
    CHECK(log == std::vector<std::string>{"first ones", "first zeros", "first ones", "first zeros",
                                          "first zeros"});
  }

  TEST_CASE("denied ops are refused, and only those") {
    DenyMode deny({"mm"});
    const ModeScope scope(deny);
    CHECK(refusal([] { mm(ones({1, 1}), ones({1, 1})); }).text == "mm(): denied by mode deny");
    CHECK(add(row({1}), 1).item() == 2);
  }

  TEST_CASE("F-235 a mode below autograd sees the ops of backward, one above does not") {
    CountMode above, below;
    const Tensor x = leaf({1, 2});
    {
      const ModeScope a(above);
      const ModeScope b(below, Level::below_autograd);
      sum(mul(x, x)).backward();
    }
    CHECK(above.calls() == std::map<std::string, int64_t>{{"mul", 1}, {"sum", 1}});
    CHECK(below.calls().at("mul") >= 2);
    CHECK(x.grad().to_vector<double>() == Numbers{2, 4});
  }

  TEST_CASE("a mode below autograd sees what a composite calls, and recorded Functions") {
    CountMode below;
    const Tensor x = leaf({1, 2});
    {
      const ModeScope scope(below, Level::below_autograd);
      tx("scaled_sum")(row({1, 2}), 2.0);
    }
    CHECK(below.calls() == std::map<std::string, int64_t>{{"mul", 1}, {"sum", 1}});
    CountMode functions;
    {
      const ModeScope scope(functions, Level::below_autograd);
      apply("identity", x);
    }
    CHECK(functions.calls().at("fx.identity") == 1);
  }

  TEST_CASE(
      "other arguments that a mode below autograd passes on are written so for the outer one") {
    class Write : public Mode {
     public:
      Write() : Mode("write") {}
      Results tenon_function(const Call& call) override {
        written = call.args_text() + call.kwargs_text();
        return call.call_parent();
      }
      std::string written;
    };
    class Replace : public Mode {
     public:
      Replace() : Mode("replace") {}
      Results tenon_function(const Call& call) override {
        const tenon_call& view = *call.handle();
        std::vector<tenon_value> arguments(view.arguments, view.arguments + view.argument_count);
        const Tensor other = row({5});
        arguments[0].as.tensor = other.handle();
        Results results = Results::of_count(1);
        tenon::detail::check(tenon::service::types().call_parent, call.handle(), arguments.data(),
                             results.slots());
        return results;
      }
    };
    Write outer;
    Replace inner;
    const ModeScope a(outer, Level::below_autograd), b(inner, Level::below_autograd);
    CHECK(Op("neg").call<Tensor>(tenon::arg("input") = row({1})).item() == -5);
    CHECK(outer.written == "(){'input': tensor([5.], dtype=f64)}");
  }

  TEST_CASE("F-112 a mode is handed the operands' types that have a handler or an override") {
    class Types : public Mode {
     public:
      Types() : Mode("types") {}
      Results tenon_function(const Call& call) override {
        seen.push_back(call.type_names());
        return call.call_parent();
      }
      std::vector<std::vector<std::string>> seen;
    };
    const Tensor s2 = tx("make").call<Tensor>("S2", row({1})),
                 ss2 = tx("make").call<Tensor>("SS2", row({1})),
                 bare = tx("make").call<Tensor>("Bare"), plain = row({1});
    Types outer, inner;
    using Names = std::vector<std::string>;
    {
      const ModeScope a(outer), b(inner);
      s2 + ss2;
      plain + plain;
      refusal([&] { Op("add")(s2, bare); });
      const DisableTenonFunctionSubclass off;
      s2 + ss2;
    }
    const std::vector<Names> expected{{"SS2", "S2"}, {}, {"S2"}, {}};
    CHECK(inner.seen == expected);
    CHECK(outer.seen == expected);
  }

  TEST_CASE("types, and modes too, are switched off for a scope") {
    CountMode count, entered;
    const Tensor s2 = tx("make").call<Tensor>("S2", leaf({1, 2}));
    const Tensor d = tx("make").call<Tensor>("D");
    const Op add_op("add");
    const ModeScope scope(count);
    {
      const DisableTenonFunctionSubclass off;
      CHECK(type_name(s2 + 1) == "Tensor");
      CHECK(count.calls().at("add") == 1);
      CHECK(refusal([&] { add_op(d, 1); }).text ==
            "add(): argument 'input' (position 1) must be Tensor or Number, not D");
      CHECK_FALSE(type_name(neg(s2)) == "S2");
      CHECK(has_tenon_function(s2));  // the mode
      {
        const DisableTenonFunction nested;
        const ModeScope inside(entered);
        CHECK(type_name(s2 + 1) == "Tensor");
        CHECK_FALSE(has_tenon_function(s2));
        CHECK(service::modes().count() == 0);
        const Json why = listing::explain(add_op, s2, 1);
        CHECK(why["modes"].size() == 0);
        CHECK(why["steps"][0]["reason"].text() == "mode count is disabled here");
        CHECK(has(listing::explain_text(why), "types are disabled here"));
        TraceScope trace;
        add_op(s2, 1);
        CHECK(has(trace.text(), "  types are disabled\n  modes are disabled\n  kernel add"));
      }
      CHECK(type_name(s2 + 1) == "Tensor");
      // Calls inside, on other threads' stacks and in chunks, too.
      std::atomic<int> typed{0};
      parallel_for(0, 4, 1, [&](int64_t, int64_t) {
        if (type_name(s2 + 1) != "Tensor") ++typed;
      });
      CHECK(typed.load() == 0);
    }
    CHECK(type_name(s2 + 1) == "S2");
    CHECK(entered.calls().empty());
    std::thread([&] { CHECK(type_name(s2 + 1) == "S2"); }).join();
    CHECK(sum(s2).requires_grad());
  }

  TEST_CASE("a mode counts what all threads of a parallel loop call") {
    const int32_t threads = thread_count();
    set_thread_count(4);
    CountMode count;
    {
      const ModeScope scope(count);
      const Tensor one = ones({1});
      parallel_for(0, 4000, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) one + 1;
      });
    }
    set_thread_count(threads);
    CHECK(count.calls().at("add") == 4000);
  }

  TEST_CASE("a mode is of its thread") {
    CountMode count;
    const ModeScope scope(count);
    std::thread([] { ones({1}); }).join();
    CHECK(count.calls().empty());
  }

  TEST_CASE("an op that calls itself without end is an error, in modes and recorded too") {
    load_plugin(TENON_FIXTURES "/modes.so");
    const Op endless("modes.endless");
    const auto check = [&](const Tensor& x) {
      const Refusal refused = refusal([&] { endless(x); });
      CHECK(refused.kind == TENON_ERROR_RUNTIME);
      CHECK(refused.op != "");
      CHECK(has(refused.text, "endless recursion"));
      CHECK(has(refused.text, "modes.endless -> modes.endless"));
    };
    tenon_test::on_small_stack([&] {
      check(row({1}));
      check(leaf({1}));
      check(tx("make").call<Tensor>("S2", row({1})));
      CountMode count;
      const ModeScope scope(count, Level::below_autograd);
      check(row({1}));
      CHECK(neg(row({1})).item() == -1);
    });
  }

  TEST_CASE("a recursion that goes through a mode is stopped as well") {
    class Late : public Mode {  // takes no part the first time
     public:
      Late() : Mode("late") {}
      Results tenon_function(const Call& call) override {
        if (first_) {
          first_ = false;
          return not_implemented;
        }
        return call.call_parent();
      }

     private:
      bool first_ = true;
    } late;
    const Tensor x = tx("make")("Recursing", row({1})).tensor();
    const ModeScope scope(late);
    const Refusal refused = refusal([&] { Op("sin")(x); });
    CHECK(refused.kind == TENON_ERROR_RUNTIME);
    CHECK(has(refused.text, "handler of Recursing for sin -> handler of Recursing for sin;"));
  }
}
