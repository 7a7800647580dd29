// What a call reads of its thread.
#pragma once

#include <cstdint>

namespace tenon::core {

struct ThreadState {
  bool grad_enabled = true;
  uint64_t dual_level = 0;  // of forward mode; 0: none is open
};

extern constinit thread_local ThreadState thread_state;

// Sets the thread's recording for a scope.
class GradModeGuard {
 public:
  explicit GradModeGuard(bool enabled) : previous_(thread_state.grad_enabled) {
    thread_state.grad_enabled = enabled;
  }
  ~GradModeGuard() { thread_state.grad_enabled = previous_; }
  GradModeGuard(const GradModeGuard&) = delete;
  GradModeGuard& operator=(const GradModeGuard&) = delete;

 private:
  bool previous_;
};

}  // namespace tenon::core
