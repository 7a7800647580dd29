// The calls that are running, so that what they may use is freed only when they have ended.
//
// A call adds one to a number of its thread and takes it off at its end: plain additions to memory
// that no other thread writes. Who frees does the expensive part: it has the kernel pass a memory
// barrier on every thread (membarrier), after which each number that is 0 belongs to a thread whose
// later calls see what was published before.
#pragma once

#include <cstdint>

#include "core/base/machine.hpp"
#include "core/dispatch/call/thread_state.hpp"

namespace tenon::core {

// Adds this thread to those that are looked at; before its first call. The slow path of the stack
// check, which a thread's first call takes, does it.
void join_calling_threads() noexcept;
inline void join_running_calls() noexcept {
  if (!thread_state.own.joined) [[unlikely]]
    join_calling_threads();
}

// A moment, after what running calls may still use was withdrawn. Any thread.
uint64_t mark_running_calls();
// Whether every call that was running at the mark has ended. Looks once, does not wait; ask again
// later. False for ever on kernels without membarrier. Any thread, outside of calls.
bool have_ended(uint64_t mark);

// Counts a call as running, in its innermost function's scope.
class RunningCall {
 public:
  // The thread has joined.
  [[gnu::always_inline]] RunningCall() noexcept { add<1>(); }
  [[gnu::always_inline]] ~RunningCall() { add<-1>(); }
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

 private:
  template <int kChange>
  [[gnu::always_inline]] static void add() noexcept {
    add_in_order<kChange>(thread_state.own.running);
  }
};

// Counts a call of a thread that may not have joined: outside of the call path.
class OuterCall {
 public:
  OuterCall() noexcept : running_((join_running_calls(), RunningCall())) {}

 private:
  const RunningCall running_;
};

// Whether this thread is inside of a call.
inline bool is_in_call() noexcept { return thread_state.own.running != 0; }

}  // namespace tenon::core
