// Interrupts: a request to stop what takes long, which loops look at between their pieces.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/error.hpp"

namespace tenon::core {

// Other than 0: loops stop. Signal handlers may set it. [any-thread]
inline constinit std::atomic<int32_t> interrupt_word{0};
// Whether the loops of this thread run to their end all the same.
inline constinit thread_local bool runs_to_end = false;

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_interrupted() {
  throw Error(TENON_ERROR_INTERRUPTED, "interrupted before it was done");
}

// Throws InterruptedError where this thread is to stop.
inline void stop_if_interrupted() {
  if (interrupt_word.load(std::memory_order_relaxed) != 0 && !runs_to_end) [[unlikely]]
    throw_interrupted();
}

// Lets the loops of this thread run to their end for a scope: what they change would be half
// changed otherwise.
class UninterruptedGuard {
 public:
  UninterruptedGuard() noexcept : previous_(runs_to_end) { runs_to_end = true; }
  ~UninterruptedGuard() { runs_to_end = previous_; }
  UninterruptedGuard(const UninterruptedGuard&) = delete;
  UninterruptedGuard& operator=(const UninterruptedGuard&) = delete;

 private:
  bool previous_;
};

}  // namespace tenon::core
