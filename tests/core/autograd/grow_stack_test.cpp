// Runs that continue on another thread, with the state of the first.
#include "core/autograd/engine/grow_stack.hpp"

#include <functional>
#include <thread>

#include "core/dispatch/call/thread_state.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("autograd/fresh_stack") {
  TEST_CASE("the body runs on another thread, which has this thread's state") {
    const GradModeGuard no_grad(false);
    std::thread::id ran_on;
    bool recorded = true, low = true;
    grow_stack([&] {
      ran_on = std::this_thread::get_id();
      recorded = thread_state.grad_enabled;
      low = stack_is_low();
      thread_state.anomaly = 2;
    });
    CHECK(ran_on != std::thread::id());
    CHECK(ran_on != std::this_thread::get_id());
    CHECK_FALSE(recorded);
    CHECK_FALSE(low);
    CHECK(thread_state.anomaly == 0);
  }

  TEST_CASE("what the body throws arrives here") {
    CHECK(refusal([] { grow_stack([] { throw Error(TENON_ERROR_INDEX, "far away"); }); },
                  TENON_ERROR_INDEX) == "far away");
  }

  TEST_CASE("stacks that wait for each other come to an end, with an error") {
    int depth = 0;
    const std::function<void()> deeper = [&] {
      ++depth;
      grow_stack(deeper);
    };
    CHECK(has(refusal(deeper, TENON_ERROR_RUNTIME), "have used up 64 stacks"));
    CHECK(depth == 65);
    CHECK(thread_state.fresh_stacks == 0);
  }
}
