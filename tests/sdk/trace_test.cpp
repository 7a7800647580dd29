// Traces of calls: golden texts.
#include <memory>
#include <thread>

#include <tenon/mode.hpp>

#include "tests/sdk/functions.hpp"

using namespace functions;

TEST_SUITE("sdk/trace") {
  TEST_CASE("F-301 trace of a logging subclass: handler, parent and kernel in each other") {
    const Tensor x = tx("make").call<Tensor>("Logging", tensor({1.0, 2.0}));
    TraceScope trace;
    Op("add")(x, 1, arg("alpha") = 2);
    CHECK(trace.text() ==
          "call add(Logging f32[2], 1, alpha=2)\n"
          "  handler of Logging (plugin types)\n"
          "    parent\n"
          "      default handler (plugin tenon)\n"
          "        kernel add (plugin math)\n");
  }

  TEST_CASE("F-301 trace of one that declines, of a fallback and of what it converts") {
    const Tensor s = tx("make").call<Tensor>("S", ones({1}));
    const Tensor converting = tx("scalar").call<Tensor>(1, 2.0, "Converting");
    const Op mul_op("mul");
    {
      TraceScope trace;
      refusal([&] { mul_op(s, 2); });
      CHECK(trace.text() ==
            "call mul(S f32[1], 2)\n"
            "  handler of S (plugin types)\n"
            "    declined\n"
            "  error TypeError: no implementation found for 'tenon.mul' on types that implement "
            "tenon_function: [S]\n");
    }
    TraceScope trace;
    mul_op(converting, 3);
    CHECK(trace.text() ==
          "call mul(Converting f32[1, 1], 3)\n"
          "  fallback to_tensor of Converting (plugin types)\n"
          "    convert Converting to Tensor\n"
          "      call eye(1)\n"
          "        kernel eye (plugin math)\n"
          "      call mul(Tensor f32[1, 1], 2.0)\n"
          "        kernel mul (plugin math)\n"
          "    call mul(Tensor f32[1, 1], 3)\n"
          "      kernel mul (plugin math)\n");
  }

  TEST_CASE("a trace has every call of a parallel loop, in its order") {
    const int32_t threads = thread_count();
    set_thread_count(3);
    const Tensor x = ones({2});
    std::string expected;
    {
      TraceScope trace;
      parallel_for(0, 300, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) x* i;
      });
      for (int64_t i = 0; i < 300; ++i) {
        expected += "call mul(Tensor f32[2], " + std::to_string(i) + ")\n";
        expected += "  kernel mul (plugin math)\n";
      }
      CHECK(trace.text() == expected);
    }
    set_thread_count(threads);
  }

  TEST_CASE("F-301 modes, composites, backward and arguments that do not bind are traced") {
    CountMode count;
    const Tensor x = leaf({1, 2});
    const Op scaled_sum = tx("scaled_sum"), add_op("add");
    TraceScope trace;
    {
      const ModeScope scope(count);
      scaled_sum(x, 2.0);
    }
    CHECK(trace.text() ==
          "call tx.scaled_sum(Tensor f64[2], 2.0)\n"
          "  mode count\n"
          "    parent\n"
          "      call tx.scaled_sum(Tensor f64[2], 2.0)\n"
          "        composite tx.scaled_sum (plugin types)\n"
          "          call sum(Tensor f64[2])\n"
          "            kernel sum (plugin math)\n"
          "          call mul(Tensor f64[], 2.0)\n"
          "            kernel mul (plugin math)\n");
    {
      const Tensor y = sum(mul(x, x));
      TraceScope backward;
      y.backward();
      CHECK(has(backward.text(), "call mul(Tensor f64[2], Tensor f64[2])\n  kernel mul"));
    }
    TraceScope second;
    refusal([&] { add_op(x); });
    CHECK(second.text() ==
          "error TypeError: add() missing 1 required positional argument: 'other'\n");
  }

  TEST_CASE("F-301 a jvp is an event, and what it calls is inside of it") {
    const DualLevel level;
    const Tensor x = make_dual(row({2}), row({1}));
    TraceScope trace;
    exp(x);
    CHECK(has(trace.text(),
              "call exp(Tensor f64[1])\n  kernel exp (plugin math)\n  jvp exp (plugin "
              "math)\n    call mul("));
  }

  TEST_CASE("F-301 events as JSON, one on a line") {
    const Tensor x = tx("make").call<Tensor>("Logging", tensor({1.0, 2.0}));
    TraceScope trace(TraceFormat::json);
    Op("add")(x, 1, arg("alpha") = 2);
    REQUIRE(trace.lines().size() == 5);
    CHECK(trace.lines()[0] ==
          R"({"event":"call","depth":0,"op":"add","arguments":["Logging f32[2]","1"],)"
          R"("keywords":{"alpha":"2"}})");
    CHECK(trace.lines()[1] == R"({"event":"handler","depth":1,"op":"add",)"
                              R"("what":"handler of Logging","provider":"types"})");
    CHECK(Json::parse(trace.lines()[4])["event"].text() == "kernel");
    CHECK(Json::parse(trace.lines()[4])["depth"].integer() == 4);
  }

  TEST_CASE("F-301 a scope hears what happens in it, on its thread, and ends with it") {
    std::vector<std::string> seen;
    {
      const TraceScope trace(TraceFormat::text,
                             [&](std::string_view line) { seen.emplace_back(line); });
      ones({1});
      std::thread([] { zeros({1}); }).join();
    }
    ones({2});
    CHECK(seen == std::vector<std::string>{"call ones([1])", "  kernel ones (plugin math)"});
    // Left on another thread it is silent too.
    auto lost = std::make_unique<TraceScope>(
        TraceFormat::text, [&](std::string_view line) { seen.emplace_back(line); });
    std::thread([&] { lost.reset(); }).join();
    ones({3});
    CHECK(seen.size() == 2);
    // One that begins inside of a call counts its depth from there.
    class Listening : public Mode {
     public:
      Listening() : Mode("listening") {}
      Results tenon_function(const Call& call) override {
        const TraceScope trace(TraceFormat::text,
                               [this](std::string_view line) { lines.emplace_back(line); });
        return call.call_parent();
      }
      std::vector<std::string> lines;
    } listening;
    TraceScope outer;
    {
      const ModeScope scope(listening);
      ones({1});
    }
    CHECK(listening.lines.front() == "parent");
    CHECK(listening.lines.back() == "    kernel ones (plugin math)");
    CHECK(outer.lines().size() == 5);
  }

  TEST_CASE("what writes a trace's lines may leave it, and the ops that it calls are not events") {
    struct Writer {
      tenon_trace* trace = nullptr;
      int lines = 0;
      static void write(void* self, const char*, int64_t) {
        auto& writer = *static_cast<Writer*>(self);
        ++writer.lines;
        ones({1});
        if (writer.lines == 2) service::modes().trace_leave(writer.trace, nullptr);
      }
    } writer;
    detail::check(service::modes().trace_enter, 0, &Writer::write, static_cast<void*>(&writer),
                  &writer.trace);
    const TraceScope inner;
    ones({1});
    ones({1});
    CHECK(writer.lines == 2);
    CHECK(inner.lines().size() == 4);
  }
}
