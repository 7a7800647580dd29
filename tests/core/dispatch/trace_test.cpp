// Lines of a thread's calls, for its listeners.
#include "core/dispatch/call/trace.hpp"

#include <thread>

#include "core/base/json.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status copy_first(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                        tenon_error**) {
  results[0] = tensor_value(contiguous_copy(*arguments[0].as.tensor).give());
  return TENON_OK;
}
tenon_status fail(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error** error) {
  return guarded(error, [] { throw Error(TENON_ERROR_VALUE, "no such value"); });
}

struct Ops {
  Ops() {
    tenon_op_descriptor ops[] = {descriptor("t.copy(Tensor x) -> Tensor", copy_first),
                                 descriptor("t.fail(Tensor x) -> Tensor", fail),
                                 descriptor("t.wrap(Tensor x) -> Tensor", wrap)};
    ops[2].differentiable = TENON_DIFFERENTIABLE_COMPOSITE;
    ops[2].self = this;
    const tenon_op_descriptor* pointers[] = {&ops[0], &ops[1], &ops[2]};
    registry.commit("tracer", pointers);
  }
  static tenon_status wrap(void* self, tenon_context*, const tenon_value* arguments,
                           tenon_value* results, tenon_error** error) {
    return call_op(static_cast<Ops*>(self)->registry.find("t.copy"), arguments, 1, results, error);
  }
  void operator()(const char* name) {
    Outcome outcome;
    call(outcome, registry.find(name), {tensor_value(x.get())});
  }
  TensorRef x = floats({1});
  Registry registry;
};

struct Listener {
  explicit Listener(bool json = false) : entry(enter_trace(json, write, this)) {}
  ~Listener() {
    if (entry != nullptr) leave_trace(entry);
  }
  static void write(void* self, const char* line, int64_t length) {
    static_cast<Listener*>(self)->lines.emplace_back(line, static_cast<size_t>(length));
  }
  std::vector<std::string> lines;
  TraceEntry* entry;
};

size_t indent(const std::string& line) { return line.find_first_not_of(' '); }

}  // namespace

TEST_SUITE("dispatch/trace") {
  TEST_CASE("the calls inside of a call are indented below it") {
    Ops ops;
    Listener listener;
    ops("t.wrap");
    REQUIRE(listener.lines.size() >= 2);
    CHECK(has(listener.lines.front(), "t.wrap"));
    CHECK(has(listener.lines.back(), "kernel t.copy"));
    CHECK(indent(listener.lines.back()) > indent(listener.lines.front()));
    CHECK(thread_state.trace_depth == 0);
  }

  TEST_CASE("each line of a trace in JSON is a document with the op's name") {
    Ops ops;
    Listener listener(true);
    ops("t.copy");
    REQUIRE_FALSE(listener.lines.empty());
    for (const std::string& line : listener.lines) {
      const Json event = parse_json(line);
      CHECK(event->is_object());
      CHECK(has(line, "t.copy"));
    }
  }

  TEST_CASE("a failure is traced with its message") {
    Ops ops;
    Listener listener;
    ops("t.fail");
    CHECK(has(listener.lines.back(), "no such value"));
  }

  TEST_CASE("calls before and after, and of other threads, are not written") {
    Ops ops;
    ops("t.copy");
    {
      Listener listener;
      std::thread([&] { ops("t.copy"); }).join();
      CHECK(listener.lines.empty());
    }
    CHECK_FALSE(tracing());
    ops("t.copy");
  }

  TEST_CASE("every listener of a thread gets each event") {
    Ops ops;
    Listener outer;
    ops("t.copy");
    const size_t before = outer.lines.size();
    {
      Listener inner;
      ops("t.copy");
      CHECK(inner.lines.size() == before);
    }
    CHECK(outer.lines.size() == 2 * before);
  }

  TEST_CASE("calls that a listener makes are not traced") {
    Ops ops;
    struct Caller {
      Ops& ops;
      int lines = 0;
    } caller{ops};
    TraceEntry* const entry = enter_trace(
        false,
        [](void* self, const char*, int64_t) {
          auto& own = *static_cast<Caller*>(self);
          if (++own.lines < 100) own.ops("t.copy");
        },
        &caller);
    ops("t.copy");
    leave_trace(entry);
    CHECK(caller.lines > 0);
    CHECK(caller.lines < 5);
  }

  TEST_CASE("a listener that is left on another thread is an error, and hears no more") {
    Ops ops;
    Listener listener;
    std::thread([&] {
      CHECK(refusal([&] { leave_trace(std::exchange(listener.entry, nullptr)); },
                    TENON_ERROR_RUNTIME) != "");
    }).join();
    ops("t.copy");
    CHECK(listener.lines.empty());
  }
}
