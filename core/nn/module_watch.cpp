// Entering and leaving watches, and what they hear.
#include "core/nn/module_watch.hpp"

#include "core/base/error.hpp"
#include "core/dispatch/binding/value.hpp"

namespace tenon::core {

void ModuleWatch::tell(int32_t kind, tenon_module& module,
                       std::span<const tenon_value> values) const {
  if (left.load(std::memory_order_relaxed)) return;
  const tenon_module_event event{sizeof event, kind, &module, values.data(),
                                 static_cast<int64_t>(values.size())};
  call_checked(function_, self_, &event);
}

void ModuleWatch::tell_ended(tenon_module& module, std::span<tenon_value> results) const {
  try {
    tell(TENON_WATCH_ENDED, module, results);
  } catch (...) {
    for (tenon_value& result : results) release_value(result);
    throw;
  }
}

void ModuleWatch::tell_failed(tenon_module& module) const noexcept {
  try {
    tell(TENON_WATCH_FAILED, module, {});
  } catch (...) {
  }
}

namespace {

// Takes it out of this thread's list; false when it is not in it.
bool unlink(ModuleWatch& watch) {
  ModuleWatch* inner = nullptr;
  ModuleWatch* at = thread_state.own.watch;
  for (; at != nullptr && at != &watch; at = at->outer.get()) inner = at;
  if (at == nullptr) return false;
  if (inner != nullptr)
    inner->outer = watch.outer;
  else
    thread_state.own.watch = watch.outer.get();
  watch.release();
  return true;
}

}  // namespace

ModuleWatch* enter_watch(tenon_module_watch_function function, void* self) {
  return thread_state.own.watch = new ModuleWatch(function, self);
}

void leave_watch(ModuleWatch* watch) {
  watch->left.store(true);
  if (watch->thread != std::this_thread::get_id()) {
    // Its own thread may be looking at it, and drops it with its next look: see current_watch.
    throw Error(TENON_ERROR_RUNTIME,
                "a watch of modules is left on another thread than it was entered on; it is "
                "inactive, but leave watches where they were entered");
  }
  // A watch that is not in the list was entered in a part of a loop that has ended: it stays.
  unlink(*watch);
}

ModuleWatch* current_watch() noexcept {
  ModuleWatch* at = thread_state.own.watch;
  while (at != nullptr) {
    ModuleWatch* const outer = at->outer.get();
    if (at->left.load() && at->thread == std::this_thread::get_id()) unlink(*at);
    at = outer;
  }
  return thread_state.own.watch;
}

int64_t count_watches() noexcept {
  int64_t count = 0;
  for (const ModuleWatch* watch = current_watch(); watch != nullptr; watch = watch->outer.get())
    count += watch->left.load() ? 0 : 1;
  return count;
}

}  // namespace tenon::core
