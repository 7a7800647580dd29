// Watches: who hears of each module that a thread calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "core/base/intrusive_ptr.hpp"
#include "core/base/plugin_code.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "tenon/abi/module_watch.h"

namespace tenon::core {

// One that was entered; a call of a module keeps it, since what runs inside may leave it. Watches of a thread
// are a list, the innermost first.
class ModuleWatch {
 public:
  ModuleWatch(tenon_module_watch_function function, void* self, bool in_loops)
      : function_(function),
        self_(self),
        in_loops_(in_loops),
        code_(lease_at(Holder::Scope, function)) {}
  ModuleWatch(const ModuleWatch&) = delete;
  ModuleWatch& operator=(const ModuleWatch&) = delete;

  // These throw what the function answers.
  void tell_begins(tenon_module& module, std::span<const tenon_string> names,
                   std::span<const tenon_value> arguments) const {
    tell(TENON_WATCH_BEGINS, module, arguments, names.data());
  }
  // Releases the results when it throws.
  void tell_ended(tenon_module& module, std::span<tenon_value> results) const;
  // A failure, which the caller has.
  void tell_failed(tenon_module& module) const noexcept;
  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  IntrusivePtr<ModuleWatch> outer{thread_state.own.watches.innermost};  // entered before
  std::atomic<bool> left{false};

 private:
  ~ModuleWatch() = default;
  void tell(int32_t kind, tenon_module& module, std::span<const tenon_value> values,
            const tenon_string* names) const;
  const tenon_module_watch_function function_;
  void* const self_;
  const bool in_loops_;
  const CodeLease code_;
  std::atomic<int32_t> references_{1};
};

// Until it is left, `function` hears of the modules of this thread; with `in_loops` of those that parallel loops
// call on other threads for it, too. [this-thread]
ModuleWatch* enter_watch(tenon_module_watch_function function, void* self, bool in_loops);
// It hears nothing more. Throws RuntimeError when it was entered on another thread, and where a loop shares it.
void leave_watch(ModuleWatch* watch);
// The innermost one of this thread, when those that were left elsewhere are gone. [this-thread]
ModuleWatch* current_watch() noexcept;
// Active watches of this thread. [this-thread]
int64_t count_watches() noexcept;

// Runs `forward`, of which `watch` and those around it hear; `names` are its parameters, `results` what it gives.
template <class Forward>
void run_watched(ModuleWatch* watch, tenon_module& module, std::span<const tenon_string> names,
                 std::span<const tenon_value> arguments, std::span<tenon_value> results,
                 const Forward& forward) {
  if (watch == nullptr) return forward();
  const IntrusivePtr<ModuleWatch> kept(watch);
  watch->tell_begins(module, names, arguments);
  try {
    run_watched(watch->outer.get(), module, names, arguments, results, forward);
  } catch (...) {
    watch->tell_failed(module);
    throw;
  }
  watch->tell_ended(module, results);
}

}  // namespace tenon::core
