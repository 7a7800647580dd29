// Modes: handlers that are active in a scope of one thread and called for every op.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "core/base/plugin_code.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "tenon/abi/error.h"
#include "tenon/abi/type.h"

namespace tenon::core {

// One active mode. Above autograd it sees what is called; below, what is run, the ops of
// backward and of composites among it.
struct ModeEntry {
  std::string name;
  tenon_handler_function handler = nullptr;
  void* self = nullptr;
  bool below = false;
  std::thread::id thread;
  ModeEntry* outer = nullptr;  // next mode of the same level
  std::atomic<bool> left{false};
  bool counted = true;  // false: it only records, and modules need not call one by one for it
  void (*release_self)(void* self) = nullptr;  // when `self` is kept for it
  CodeLease code;                              // lease on the handler's code

  ~ModeEntry() {
    if (release_self != nullptr) release_self(self);
  }
};

// Enters a mode; the innermost of its level from now on. [this-thread]
ModeEntry* enter_mode(std::string name, tenon_handler_function handler, void* self, bool below);
// Leaves it. It is inactive in any case; throws RuntimeError when it was not the innermost, and
// when it was entered on another thread.
void leave_mode(ModeEntry* mode);

// The flags of every call of this thread say whether modes are active.
inline void refresh_mode_flag() {
  const bool above = thread_state.mode != nullptr && !thread_state.modes_disabled;
  const bool below = thread_state.mode_below != nullptr;
  thread_state.call_flags = (thread_state.call_flags & (kTraceFlag | kShapesFlag)) |
                            (above ? kModeFlag : 0) | (below ? kModeBelowFlag : 0);
}

// No modes above autograd, for what an implementation does inside.
class ModesOffGuard {
 public:
  ModesOffGuard() : previous_(thread_state.mode) { set(nullptr); }
  ~ModesOffGuard() { set(previous_); }
  ModesOffGuard(const ModesOffGuard&) = delete;
  ModesOffGuard& operator=(const ModesOffGuard&) = delete;

 private:
  static void set(ModeEntry* mode) {
    thread_state.mode = mode;
    refresh_mode_flag();
  }
  ModeEntry* previous_;
};

// call_parent of a mode: the call continues outside of it.
tenon_status call_outside(const CallFrame& frame, const tenon_value* arguments,
                          tenon_value* results, tenon_error** error) noexcept;

}  // namespace tenon::core
