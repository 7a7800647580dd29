// Entering, asking and leaving modes.
#include "core/dispatch/modes.hpp"

#include <memory>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/overrides.hpp"
#include "core/dispatch/trace.hpp"
#include "core/dispatch/value.hpp"

namespace tenon::core {

namespace {

ModeEntry*& stack(bool below) { return below ? thread_state.mode_below : thread_state.mode; }

// Takes a mode out of this thread's stack; false when it is not in it.
bool unlink(const ModeEntry& mode) {
  ModeEntry** place = &stack(mode.below);
  while (*place != nullptr && *place != &mode) place = &(*place)->outer;
  if (*place == nullptr) return false;
  *place = mode.outer;
  refresh_mode_flag();
  return true;
}

class Inside;
constinit thread_local const Inside* asking = nullptr;  // the innermost handler that is running

// While a mode's handler runs it is not in force itself, nor what is inside of it.
class Inside {
 public:
  explicit Inside(ModeEntry& mode) : mode_(mode), previous_(stack(mode.below)), outer_(asking) {
    asking = this;
    stack(mode_.below) = mode_.outer;
    refresh_mode_flag();
  }
  ~Inside() {
    stack(mode_.below) = previous_;
    refresh_mode_flag();
    asking = outer_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  // Whether a running handler goes on to the mode when it ends.
  static bool hold(const ModeEntry& mode) {
    for (const Inside* inside = asking; inside != nullptr; inside = inside->outer_) {
      for (const ModeEntry* held = &inside->mode_; held != nullptr; held = held->outer) {
        if (held == &mode) return true;
      }
    }
    return false;
  }

 private:
  ModeEntry& mode_;
  ModeEntry* previous_;
  const Inside* outer_;
};

// Frees those that were left where they could not go at once: on another thread, or while a
// running handler held them. Only the thread that entered them does, and in no handler.
void sweep(bool below) {
  if (asking != nullptr) return;
  for (ModeEntry** place = &stack(below); *place != nullptr;) {
    ModeEntry* mode = *place;
    if (!mode->left.load() || mode->thread != std::this_thread::get_id()) {
      place = &mode->outer;
      continue;
    }
    *place = mode->outer;
    delete mode;
  }
  refresh_mode_flag();
}

tenon_status ask_mode(ModeEntry& mode, CallFrame& frame, tenon_value* results,
                      tenon_error** error) noexcept {
  const Implementation& implementation = *frame.implementation;
  for (uint32_t r = 0; r < implementation.result_count; ++r) results[r] = tenon_value{};
  WrittenCall written;
  fill_call(frame, written);
  const Inside inside(mode);
  const FrameScope scope(frame);
  if (tracing()) trace(trace_event::mode, implementation, "mode " + mode.name);
  const TraceDepth deeper(tracing());
  const tenon_status status = mode.handler(mode.self, &frame.call, results, error);
  if (status == TENON_OK && tracing() && declined(results))
    trace(trace_event::declined, implementation, "declined");
  if (status == TENON_OK) return check_results(implementation, results, "handler of a mode", error);
  release_results(implementation, results);
  return status;
}

}  // namespace

ModeEntry* enter_mode(std::string name, tenon_handler_function handler, void* self, bool below) {
  auto mode = std::make_unique<ModeEntry>();
  mode->name = std::move(name);
  mode->handler = handler;
  mode->self = self;
  mode->below = below;
  mode->thread = std::this_thread::get_id();
  mode->outer = stack(below);
  stack(below) = mode.get();
  refresh_mode_flag();
  return mode.release();
}

void leave_mode(ModeEntry* mode) {
  const std::string name = mode->name;
  const bool here = mode->thread == std::this_thread::get_id();
  mode->left.store(true);
  if (!here) {
    // Its own thread passes it over from now on, and may be looking at it: it stays.
    throw Error(TENON_ERROR_RUNTIME, "mode " + quote(name) +
                                         " is left on another thread than it was entered on; it is "
                                         "out of force, but leave modes where they were entered");
  }
  const bool below = mode->below;
  const ModeEntry* innermost = stack(below);
  while (innermost != nullptr && innermost != mode && innermost->left.load())
    innermost = innermost->outer;
  const bool in_order = innermost == mode || innermost == nullptr;
  const std::string inner_name = in_order ? std::string() : innermost->name;
  // While a running handler or implementation holds it, it is passed over; a sweep frees it then.
  if (Inside::hold(*mode) || !unlink(*mode)) return;
  delete mode;
  sweep(below);
  if (in_order) return;
  throw Error(TENON_ERROR_RUNTIME, "mode " + quote(name) + " is left before mode " +
                                       quote(inner_name) +
                                       ", which was entered inside of it; leave the innermost "
                                       "first");
}

tenon_status call_in_modes(const Implementation& implementation, const tenon_value* arguments,
                           tenon_value* results, uint32_t flags, tenon_error** error,
                           const AsWritten* written) noexcept {
  flags &= ~kModeFlag;
  sweep(false);
  tenon_value answer{};  // of an op without results: whether somebody did
  tenon_value* const place = implementation.result_count == 0 ? &answer : results;
  const bool overridable = (implementation.flags & TENON_OP_NOT_OVERRIDABLE) == 0;
  const bool asked = overridable && !thread_state.modes_disabled && thread_state.mode != nullptr;
  std::vector<uint32_t> types;
  if (asked && (flags & TENON_TENSOR_TYPED) != 0 && asks_types(implementation)) {
    const tenon_status status =
        guarded(error, [&] { types = asked_types(implementation, arguments); });
    if (status != TENON_OK) return status;
  }
  for (ModeEntry* mode = asked ? thread_state.mode : nullptr; mode != nullptr;) {
    ModeEntry* outer = mode->outer;
    if (!mode->left.load()) {
      CallFrame frame;
      frame.implementation = &implementation;
      frame.bound = arguments;
      frame.written = written;
      frame.call.types = types.data();
      frame.call.type_count = static_cast<int64_t>(types.size());
      const tenon_status status = ask_mode(*mode, frame, place, error);
      if (status != TENON_OK || !declined(place)) return status;
    }
    mode = outer;
  }
  if ((flags & TENON_TENSOR_TYPED) != 0 && !thread_state.types_disabled && overridable)
    return call_typed(implementation, arguments, results, flags, error, written);
  // What the implementation calls is its own affair.
  const ModesOffGuard off;
  return call_untyped(implementation, arguments, results, flags, error, written);
}

bool run_in_modes(const Implementation& implementation, tenon_context& context,
                  const tenon_value* arguments, tenon_value* results, tenon_error** error,
                  tenon_status& status) noexcept {
  sweep(true);
  tenon_value answer{};
  tenon_value* const place = implementation.result_count == 0 ? &answer : results;
  for (ModeEntry* mode = thread_state.mode_below; mode != nullptr;) {
    ModeEntry* outer = mode->outer;
    if (!mode->left.load()) {
      CallFrame frame;
      frame.implementation = &implementation;
      frame.bound = arguments;
      frame.written = context.written;
      frame.context = &context;
      status = ask_mode(*mode, frame, place, error);
      if (status != TENON_OK || !declined(place)) return true;
    }
    mode = outer;
  }
  return false;
}

tenon_status call_outside(const CallFrame& frame, const tenon_value* arguments,
                          tenon_value* results, tenon_error** error) noexcept {
  const Implementation& implementation = *frame.implementation;
  const tenon_value* values = arguments == nullptr ? frame.bound : arguments;
  if (frame.context != nullptr) {
    // Of a recorded Function: what it leaves is settled by who records it.
    const bool unsettled =
        frame.context->function != nullptr && !frame.context->function->transient;
    return (unsettled ? run_only : run_plain)(implementation, *frame.context, values, results,
                                              error);
  }
  const Rewritten written(frame, values);
  return call_again(implementation, values, written.get(), results, error);
}

}  // namespace tenon::core
