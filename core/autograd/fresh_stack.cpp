// The stack's limits, and threads that continue a run.
#include "core/autograd/fresh_stack.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <pthread.h>

#include "core/base/error.hpp"
#include "core/dispatch/thread_state.hpp"

namespace tenon::core {

namespace {

// Address space only: pages come as they are touched.
constexpr size_t kStackBytes = size_t{32} << 20;
// Room for what a rule and its kernels need.
constexpr intptr_t kReserve = intptr_t{1} << 20;

// The address below which a call should not begin.
uintptr_t stack_floor() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  size_t bytes = 0;
  pthread_attr_getstack(&attributes, &lowest, &bytes);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<uintptr_t>(lowest) +
         std::min(static_cast<uintptr_t>(kReserve), bytes / 2);
}

struct Continuation {
  void (*body)(void*);
  void* state;
  ThreadState thread;
  std::exception_ptr failure;
};

void* go_on(void* argument) {
  auto& continuation = *static_cast<Continuation*>(argument);
  set_thread_state(continuation.thread);
  try {
    continuation.body(continuation.state);
  } catch (...) {
    continuation.failure = std::current_exception();
  }
  return nullptr;
}

}  // namespace

bool stack_is_low() {
  static thread_local const uintptr_t floor = stack_floor();
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) < floor;
}

void run_on_fresh_stack(void (*body)(void*), void* state) {
  Continuation continuation{body, state, thread_state, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread{};
  const int failed = pthread_create(&thread, &attributes, go_on, &continuation);
  pthread_attr_destroy(&attributes);
  if (failed != 0) {
    throw Error(TENON_ERROR_RUNTIME,
                "backward is nested too deep for this thread's stack, and no thread can be started "
                "to go on in");
  }
  pthread_join(thread, nullptr);
  if (continuation.failure) std::rethrow_exception(continuation.failure);
}

}  // namespace tenon::core
