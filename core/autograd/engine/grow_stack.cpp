// The stack's limits, and threads that continue a run.
#include "core/autograd/engine/grow_stack.hpp"

#include <exception>
#include <pthread.h>

#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/stack.hpp"
#include "core/dispatch/call/thread_state.hpp"

namespace tenon::core {

namespace {

// Address space only: pages come as they are touched.
constexpr size_t kStackBytes = size_t{32} << 20;
// Room for what a rule and its kernels need.
constexpr size_t kReserve = size_t{1} << 20;
// Threads that wait for each other: more are a recursion without end, which would use up the
// memory.
constexpr uint32_t kMostStacks = 64;

struct Continuation {
  void (*body)(void*);
  void* state;
  ThreadState thread;
  ModuleWatches* watches;  // watches of the thread that waits
  bool whole;              // runs_to_end
  std::exception_ptr failure;
};

void* go_on(void* argument) {
  auto& continuation = *static_cast<Continuation*>(argument);
  set_thread_state(continuation.thread);
  thread_state.own.watches = *continuation.watches;
  runs_to_end = continuation.whole;
  try {
    continuation.body(continuation.state);
  } catch (...) {
    continuation.failure = std::current_exception();
  }
  *continuation.watches = thread_state.own.watches;
  return nullptr;
}

}  // namespace

bool stack_is_low() { return stack_is_low(kReserve); }

void grow_stack(void (*body)(void*), void* state) {
  Continuation continuation{body,        state,  thread_state, &thread_state.own.watches,
                            runs_to_end, nullptr};
  if (++continuation.thread.fresh_stacks > kMostStacks) {
    throw Error(TENON_ERROR_RUNTIME,
                "endless recursion: calls inside each other have used up {} stacks; a rule, hook "
                "or module that leads back to itself needs a case in which it does not",
                kMostStacks);
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread{};
  const int failed = pthread_create(&thread, &attributes, go_on, &continuation);
  pthread_attr_destroy(&attributes);
  if (failed != 0) {
    throw Error(
        TENON_ERROR_RUNTIME,
        "calls are nested too deep for this thread's stack, and no thread can be started to "
        "continue in");
  }
  pthread_join(thread, nullptr);
  if (continuation.failure) std::rethrow_exception(continuation.failure);
}

}  // namespace tenon::core
