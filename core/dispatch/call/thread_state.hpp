// State of a thread that its calls read.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/dispatch/call/call_flags.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

class EngineRun;
struct DualLevel;
struct CallFrame;
struct SavedScope;
struct ModeEntry;
struct TraceEntry;
class ModuleWatch;

// Who hears of a thread's modules.
struct ModuleWatches {
  ModuleWatch* innermost = nullptr;   // entered last
  const ModuleWatch* lent = nullptr;  // from here on they are a loop's, whose threads share them
  bool of_another = false;            // and the loop is another thread's
};

// State that stays a thread's own when another thread takes over the rest: copies and assignments
// leave it as it is.
struct OwnOfThread {
  // Calls below this address look at what is left of the stack. A thread that has not looked yet
  // has the highest, so that its first call looks.
  uintptr_t stack_limit = UINTPTR_MAX;
  int64_t running = 0;  // calls inside of each other, see running_calls.hpp
  bool joined = false;  // among the threads that are looked at
  // Scopes that restore a thread's state leave these, since a watch may be left within one; what runs on another
  // thread for this one gets them.
  ModuleWatches watches;

  constexpr OwnOfThread() = default;
  OwnOfThread(const OwnOfThread&) noexcept {}
  OwnOfThread& operator=(const OwnOfThread&) noexcept { return *this; }
};

// State of a thread. All but `own` goes along when a run of the engine continues on another thread.
struct ThreadState {
  OwnOfThread own;
  bool grad_enabled = true;
  bool inference = false;         // creation.flags says the same to what makes tensors
  bool strict_gradients = false;  // a Function's gradient must have its input's shape
  bool types_disabled = false;    // operands of child types are plain tensors
  bool modes_disabled = false;    // modes above autograd are not called
  uint8_t anomaly = 0;  // 1: nodes keep where they were recorded; 2: gradients are searched
  DualLevel* dual_level = nullptr;   // innermost level of forward mode that calls see, if any
  EngineRun* run = nullptr;          // the innermost backward under way
  const CallFrame* frame = nullptr;  // the handlers and overrides that are running, innermost first
  SavedScope* saved_scope = nullptr;  // innermost scope of saved-tensor hooks
  uint32_t call_flags = 0;            // kThreadFlags: what every call begins with
  uint32_t module = 0;  // number of the one whose forward runs, or has recorded the running node
  int64_t* multiply_adds = nullptr;  // counted while ops compute shapes alone: their number so far
  ModeEntry* mode = nullptr;         // the innermost one above autograd
  ModeEntry* mode_below = nullptr;   // and below
  TraceEntry* trace = nullptr;       // who listens, the last first
  uint32_t trace_depth = 0;          // depth of the events inside of each other
  uint32_t fresh_stacks = 0;         // on which a nested backward has continued
  // Within an op that is made of ops, or a rule, whose operands are in separate memory: plain
  // operands beside such ones, which it has made itself, are moved there.
  bool joins_memory = false;
};

extern constinit thread_local ThreadState thread_state;

inline bool records() { return thread_state.grad_enabled && !thread_state.inference; }

// Sets a switch of the thread for a scope.
template <auto kSwitch>
class SwitchGuard {
  using Value = std::decay_t<decltype(thread_state.*kSwitch)>;

 public:
  explicit SwitchGuard(Value value) : previous_(std::exchange(thread_state.*kSwitch, value)) {}
  ~SwitchGuard() { thread_state.*kSwitch = previous_; }
  SwitchGuard(const SwitchGuard&) = delete;
  SwitchGuard& operator=(const SwitchGuard&) = delete;

 private:
  Value previous_;
};
using GradModeGuard = SwitchGuard<&ThreadState::grad_enabled>;
// Makes the thread's calls see tensors of child types as plain ones.
using TypesDisabledGuard = SwitchGuard<&ThreadState::types_disabled>;

inline void set_thread_state(const ThreadState& state) {
  thread_state = state;
  creation.flags = state.inference ? uint32_t{TENON_TENSOR_INFERENCE} : 0;
  large_storage_is_lazy = state.multiply_adds != nullptr;
}
// Lends the watches of a loop's caller to a part of the loop, in which they cannot be left.
class LentWatches {
 public:
  LentWatches(const ModuleWatches& watches, const ThreadState& caller)
      : previous_(thread_state.own.watches) {
    thread_state.own.watches = {watches.innermost, watches.innermost,
                                watches.of_another || &caller != &thread_state};
  }
  ~LentWatches() { thread_state.own.watches = previous_; }
  LentWatches(const LentWatches&) = delete;
  LentWatches& operator=(const LentWatches&) = delete;

 private:
  const ModuleWatches previous_;
};

// Sets all of it for a scope.
class ThreadStateGuard {
 public:
  explicit ThreadStateGuard(const ThreadState& state) : previous_(thread_state) {
    set_thread_state(state);
  }
  ~ThreadStateGuard() { set_thread_state(previous_); }
  ThreadStateGuard(const ThreadStateGuard&) = delete;
  ThreadStateGuard& operator=(const ThreadStateGuard&) = delete;
  const ThreadState& previous() const { return previous_; }

 private:
  const ThreadState previous_;
};

inline void set_inference_mode(bool enabled) {
  thread_state.inference = enabled;
  creation.flags = enabled ? uint32_t{TENON_TENSOR_INFERENCE} : 0;
}

// From now on the thread's calls compute shapes and dtypes alone (kernel/shapes.cpp), and add the
// multiply-adds that ops declare to *multiply_adds; null ends it. Returns what was set before.
inline int64_t* set_shapes_only(int64_t* multiply_adds) noexcept {
  large_storage_is_lazy = multiply_adds != nullptr;
  thread_state.call_flags =
      (thread_state.call_flags & ~kShapesFlag) | (multiply_adds != nullptr ? kShapesFlag : 0);
  return std::exchange(thread_state.multiply_adds, multiply_adds);
}

}  // namespace tenon::core
