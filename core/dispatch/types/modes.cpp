// Entering, asking and leaving modes.
#include "core/dispatch/types/modes.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/binding/call_frame.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/call/explanation.hpp"
#include "core/dispatch/call/kernel.hpp"
#include "core/dispatch/call/result_check.hpp"
#include "core/dispatch/call/trace.hpp"
#include "core/dispatch/types/plan.hpp"

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

class ModeSuspension;
// The innermost suspension of this thread; null: no handler of a mode runs.
constinit thread_local const ModeSuspension* innermost = nullptr;

// While a mode's handler runs, that mode and those inside of it are inactive.
class ModeSuspension {
 public:
  explicit ModeSuspension(ModeEntry& mode)
      : mode_(mode), previous_(stack(mode.below)), outer_(innermost) {
    innermost = this;
    stack(mode_.below) = mode_.outer;
    refresh_mode_flag();
  }
  ~ModeSuspension() {
    stack(mode_.below) = previous_;
    refresh_mode_flag();
    innermost = outer_;
  }
  ModeSuspension(const ModeSuspension&) = delete;
  ModeSuspension& operator=(const ModeSuspension&) = delete;

  // Whether a running handler continues with the mode when it ends.
  static bool hold(const ModeEntry& mode) {
    for (const ModeSuspension* inside = innermost; inside != nullptr; inside = inside->outer_) {
      for (const ModeEntry* held = &inside->mode_; held != nullptr; held = held->outer) {
        if (held == &mode) return true;
      }
    }
    return false;
  }

 private:
  ModeEntry& mode_;
  ModeEntry* previous_;
  const ModeSuspension* outer_;
};

// Modes of all threads that were left where they could not go at once.
constinit std::atomic<int64_t> left_in_place{0};

// Frees those that were left where they could not go at once: on another thread, or while a
// running handler held them. Only the thread that entered them does, and in no handler.
void sweep(bool below) {
  if (left_in_place.load(std::memory_order_relaxed) == 0 || innermost != nullptr) [[likely]]
    return;
  for (ModeEntry** place = &stack(below); *place != nullptr;) {
    ModeEntry* mode = *place;
    if (!mode->left.load() || mode->thread != std::this_thread::get_id()) {
      place = &mode->outer;
      continue;
    }
    *place = mode->outer;
    delete mode;
    --left_in_place;
  }
  refresh_mode_flag();
}

tenon_status ask_mode(ModeEntry& mode, CallFrame& frame) noexcept {
  const Call& call = frame.call;
  const Implementation& implementation = call.implementation;
  // For an op without results the first place says whether the mode handled the call, see
  // ask_modes.
  const uint32_t places = std::max<uint32_t>(implementation.result_count, 1);
  for (uint32_t r = 0; r < places; ++r) call.results[r] = tenon_value{};
  WrittenCall written;
  fill_view(frame.view, call, written);
  const ModeSuspension suspended(mode);
  const FrameScope scope(frame);
  if (tracing()) trace(trace_event::mode, implementation, format_text("mode {}", mode.name));
  const TraceDepth deeper(tracing());
  const tenon_status status = mode.handler(mode.self, &frame.view, call.results, call.error);
  if (status == TENON_OK && tracing() && declined(call.results))
    trace(trace_event::declined, implementation, "declined");
  if (status == TENON_OK) {
    if (made_of_values(implementation, call.results)) [[likely]]
      return TENON_OK;
    return check_results(implementation, call.results, "handler of a mode", call.error);
  }
  release_results(implementation, call.results);
  return status;
}

// Asks the modes of a level, innermost first; false when none of them handles the call.
bool ask_modes(Call& call, std::span<const uint32_t> types, bool below,
               tenon_status& status) noexcept {
  tenon_value handled{};  // for an op without results
  if (call.implementation.result_count == 0) call.results = &handled;
  for (ModeEntry* mode = stack(below); mode != nullptr;) {
    ModeEntry* outer = mode->outer;
    if (!mode->left.load()) {
      CallFrame frame(call);
      frame.view.type = 0;
      frame.view.types = types.data();
      frame.view.type_count = static_cast<int64_t>(types.size());
      status = ask_mode(*mode, frame);
      if (status != TENON_OK || !declined(call.results)) return true;
    }
    mode = outer;
  }
  return false;
}

}  // namespace

ModeEntry* enter_mode(std::string name, tenon_handler_function handler, void* self, bool below) {
  auto mode = std::make_unique<ModeEntry>();
  mode->name = std::move(name);
  mode->handler = handler;
  mode->code = lease_at(Holder::Scope, handler);
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
    ++left_in_place;
    // Its own thread passes it over from now on, and may be looking at it: it stays.
    throw Error(TENON_ERROR_RUNTIME,
                "mode {} is left on another thread than it was entered on; it is inactive, but "
                "leave modes where they were entered",
                quote(name));
  }
  const bool below = mode->below;
  const ModeEntry* inner = stack(below);
  while (inner != nullptr && inner != mode && inner->left.load()) inner = inner->outer;
  const bool in_order = inner == mode || inner == nullptr;
  const std::string inner_name = in_order ? std::string() : inner->name;
  // While a running handler or implementation holds it, it is passed over; a sweep frees it then.
  if (ModeSuspension::hold(*mode) || !unlink(*mode)) {
    ++left_in_place;
    return;
  }
  delete mode;
  sweep(below);
  if (in_order) return;
  throw Error(
      TENON_ERROR_RUNTIME,
      "mode {} is left before mode {}, which was entered inside of it; leave the innermost first",
      quote(name), quote(inner_name));
}

tenon_status run_modes(Call& call) noexcept {
  sweep(false);
  const bool typed = (call.flags & TENON_TENSOR_TYPED) != 0 && asks_types(call.implementation);
  const bool overridable = (call.implementation.flags & TENON_OP_NOT_OVERRIDABLE) == 0;
  if (overridable && !thread_state.modes_disabled && thread_state.mode != nullptr) {
    TypeIds types;
    tenon_status status = TENON_OK;
    if (typed) {
      status = guarded(call.error, [&] { types = dispatching_types(call); });
      if (status != TENON_OK) return status;
    }
    Call shown = call;
    if (ask_modes(shown, types, false, status)) return status;
  }
  if (typed) return next<LayerId::mode>(call);
  // Calls made by the implementation do not reach the mode.
  const ModesOffGuard off;
  return next<LayerId::mode>(call);
}

void explain_modes(Explanation& explanation) {
  const auto active = [](const ModeEntry* mode) {
    std::vector<std::string> names;
    for (; mode != nullptr; mode = mode->outer) {
      if (!mode->left.load()) names.push_back(mode->name);
    }
    return names;
  };
  const auto add_step = [&](const std::string& mode, const std::string& reason) {
    explanation.steps.push_back({"", format_text("mode {}", mode), "", reason});
  };
  explanation.modes_below = active(thread_state.mode_below);
  std::vector<std::string> above = active(thread_state.mode);
  if (thread_state.modes_disabled) {
    for (const std::string& mode : above)
      add_step(mode, format_text("mode {} is disabled here", mode));
    return;
  }
  explanation.modes = std::move(above);
  if (!explanation.overridable() || explanation.modes.empty()) return;
  for (const std::string& mode : explanation.modes) add_step(mode, "");
  explanation.first_mode = explanation.steps.front().what;
}

tenon_status run_modes_below(Call& call) noexcept {
  // No kernel runs for a composite: modes see the ops that it calls.
  if (call.implementation.composite) return next<LayerId::mode_below>(call);
  sweep(true);
  tenon_context own{
      .implementation = &call.implementation, .arguments = call.arguments, .written = call.written};
  Call shown = call;
  if (shown.context == nullptr) shown.context = &own;
  shown.written = shown.context->written;
  tenon_status status = TENON_OK;
  if (!ask_modes(shown, {}, true, status)) return next<LayerId::mode_below>(call);
  if (status != TENON_OK) return status;
  // As after a kernel: one comparison is enough for most results.
  const Implementation& implementation = call.implementation;
  if (implementation.result_count == 1 && !implementation.mutates &&
      has_tag(call.results[0], implementation.result_tag)) [[likely]]
    return TENON_OK;
  shown.context->results = call.results;
  shown.context->error = call.error;
  return check_kernel(*shown.context, implementation.mutates);
}

namespace {

tenon_status continue_outside(Call& call, tenon_value* results, tenon_error** error) noexcept {
  call.results = results;
  call.error = error;
  if (call.context == nullptr) return redispatch(call);
  tenon_context context = *call.context;
  context.arguments = call.arguments;
  context.written = call.written;
  call.context = &context;
  call.flags = (call.flags & ~kModeBelowFlag) | (thread_state.call_flags & kModeBelowFlag);
  return enter<LayerId::mode_below>(call);
}

}  // namespace

tenon_status call_outside(const CallFrame& frame, const tenon_value* arguments,
                          tenon_value* results, tenon_error** error) noexcept {
  Call call = frame.call;
  if (arguments == nullptr) return continue_outside(call, results, error);
  call.arguments = arguments;
  const Rewritten written(frame.call, arguments);
  call.written = Writing(written.get());
  return continue_outside(call, results, error);
}

}  // namespace tenon::core
