// What a call reads of its thread.
#pragma once

#include <cstdint>

namespace tenon::core {

struct CallFrame;

struct ThreadState {
  bool grad_enabled = true;
  uint64_t dual_level = 0;  // of forward mode; 0: none is open
  bool types_disabled = false;       // operands of child types are plain tensors
  const CallFrame* frame = nullptr;  // the handlers and overrides that are running, innermost first
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

// Makes the thread's calls see tensors of child types as plain ones, for a scope.
class TypesDisabledGuard {
 public:
  explicit TypesDisabledGuard(bool disabled) : previous_(thread_state.types_disabled) {
    thread_state.types_disabled = disabled;
  }
  ~TypesDisabledGuard() { thread_state.types_disabled = previous_; }
  TypesDisabledGuard(const TypesDisabledGuard&) = delete;
  TypesDisabledGuard& operator=(const TypesDisabledGuard&) = delete;

 private:
  bool previous_;
};

}  // namespace tenon::core
