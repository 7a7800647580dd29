// Whether the calls that were running at a mark have ended, for threads that the test holds in
// calls.
#include "core/dispatch/call/running_calls.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include <doctest/doctest.h>

using namespace tenon::core;

namespace {

// A thread that enters and leaves a call when it is asked to.
class Caller {
 public:
  Caller() : thread_([this] { run(); }) {}
  ~Caller() {
    order(Order::end);
    thread_.join();
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  void enter() { order(Order::enter); }
  void leave() { order(Order::leave); }

 private:
  enum class Order { none, enter, leave, end };

  // Returns when it is done.
  void order(Order what) {
    std::unique_lock lock(mutex_);
    order_ = what;
    changed_.notify_all();
    changed_.wait(lock, [&] { return order_ == Order::none; });
  }
  void run() {
    std::optional<OuterCall> call;
    for (bool ends = false; !ends;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return order_ != Order::none; });
      if (order_ == Order::enter) call.emplace();
      if (order_ == Order::leave) call.reset();
      ends = order_ == Order::end;
      if (ends) call.reset();
      order_ = Order::none;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Order order_ = Order::none;
  std::thread thread_;
};

}  // namespace

TEST_SUITE("dispatch/running_calls") {
  TEST_CASE("a thread knows whether it is in a call, however deep") {
    CHECK_FALSE(is_in_call());
    {
      const OuterCall outer;
      const RunningCall inner;
      CHECK(is_in_call());
    }
    CHECK_FALSE(is_in_call());
  }

  TEST_CASE("a mark ends with the call that was running at it, and not before") {
    Caller caller;
    caller.enter();
    const uint64_t mark = mark_running_calls();
    CHECK_FALSE(have_ended(mark));
    CHECK_FALSE(have_ended(mark));
    caller.leave();
    CHECK(have_ended(mark));
    CHECK(have_ended(mark));  // for ever
  }

  TEST_CASE(
      "a thread that was seen outside of calls once holds no mark up, whatever it enters then") {
    Caller first, second;
    first.enter();
    const uint64_t mark = mark_running_calls();
    CHECK_FALSE(have_ended(mark));  // sees the second outside
    second.enter();
    first.leave();
    CHECK(have_ended(mark));
    const uint64_t later = mark_running_calls();
    CHECK_FALSE(have_ended(later));
    second.leave();
    CHECK(have_ended(later));
  }

  TEST_CASE("a thread that joins after a mark is not waited for") {
    const uint64_t mark = mark_running_calls();
    Caller caller;
    caller.enter();
    CHECK(have_ended(mark));
    const uint64_t later = mark_running_calls();
    CHECK_FALSE(have_ended(later));
    caller.leave();
    CHECK(have_ended(later));
  }

  TEST_CASE("a thread that has ended is not waited for, nor is one that ends in between") {
    uint64_t mark = 0;
    {
      Caller caller;
      caller.enter();
      mark = mark_running_calls();
      CHECK_FALSE(have_ended(mark));
    }
    CHECK(have_ended(mark));
  }

  TEST_CASE("of several marks each needs only what ran at it") {
    Caller first, second;
    first.enter();
    const uint64_t early = mark_running_calls();
    second.enter();
    const uint64_t late = mark_running_calls();
    CHECK_FALSE(have_ended(early));
    first.leave();
    CHECK_FALSE(have_ended(late));
    second.leave();
    CHECK(have_ended(late));
    CHECK(have_ended(early));
  }
}
