// Entering and leaving watches, and what they hear.
#include "core/nn/module_watch.hpp"

#include "core/base/error.hpp"
#include "core/dispatch/binding/value.hpp"

namespace tenon::core {

void ModuleWatch::tell(int32_t kind, tenon_module& module, std::span<const tenon_value> values,
                       const tenon_string* names) const {
  if (left.load(std::memory_order_relaxed)) return;
  if (thread_state.own.watches.of_another && !in_loops_) return;
  const tenon_module_event event{
      sizeof event, kind, &module, values.data(), static_cast<int64_t>(values.size()), names};
  call_checked(function_, self_, &event);
}

void ModuleWatch::tell_ended(tenon_module& module, std::span<tenon_value> results) const {
  try {
    tell(TENON_WATCH_ENDED, module, results, nullptr);
  } catch (...) {
    for (tenon_value& result : results) release_value(result);
    throw;
  }
}

void ModuleWatch::tell_failed(tenon_module& module) const noexcept {
  try {
    tell(TENON_WATCH_FAILED, module, {}, nullptr);
  } catch (...) {
  }
}

namespace {

// Takes it out of this thread's list; false when it is not among those that no loop shares.
bool unlink(ModuleWatch& watch) {
  ModuleWatches& watches = thread_state.own.watches;
  ModuleWatch* inner = nullptr;
  ModuleWatch* at = watches.innermost;
  for (; at != watches.lent && at != &watch; at = at->outer.get()) inner = at;
  if (at == watches.lent) return false;
  if (inner != nullptr)
    inner->outer = watch.outer;
  else
    watches.innermost = watch.outer.get();
  watch.release();
  return true;
}

}  // namespace

ModuleWatch* enter_watch(tenon_module_watch_function function, void* self, bool in_loops) {
  return thread_state.own.watches.innermost = new ModuleWatch(function, self, in_loops);
}

void leave_watch(ModuleWatch* watch) {
  watch->left.store(true);
  if (unlink(*watch)) return;
  // Its own thread drops it when no loop shares it, see current_watch.
  throw Error(TENON_ERROR_RUNTIME,
              "a watch of modules is left on another thread than it was entered on, or within a "
              "parallel loop that began under it; it is inactive, but leave watches where they "
              "were entered");
}

ModuleWatch* current_watch() noexcept {
  const ModuleWatches& watches = thread_state.own.watches;
  for (ModuleWatch* at = watches.innermost; at != watches.lent;) {
    ModuleWatch* const outer = at->outer.get();
    if (at->left.load()) unlink(*at);
    at = outer;
  }
  return watches.innermost;
}

int64_t count_watches() noexcept {
  int64_t count = 0;
  for (const ModuleWatch* watch = current_watch(); watch != nullptr; watch = watch->outer.get())
    count += watch->left.load() ? 0 : 1;
  return count;
}

}  // namespace tenon::core
