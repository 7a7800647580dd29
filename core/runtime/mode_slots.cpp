// The host's slots on settings of the calling thread: modes, traces, and what is switched off.
#include <algorithm>

#include "core/autograd/graph/leak_tracking.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/call/trace.hpp"
#include "core/dispatch/types/modes.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/nn/module_call.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

namespace {

int32_t inference_mode_set(int32_t enabled) {
  const bool previous = thread_state.inference;
  set_inference_mode(enabled != 0);
  return previous ? 1 : 0;
}
int32_t inference_mode() { return thread_state.inference ? 1 : 0; }
int32_t anomaly_mode_set(int32_t level) {
  const uint8_t previous = thread_state.anomaly;
  thread_state.anomaly = static_cast<uint8_t>(std::clamp(level, 0, 2));
  return previous;
}
int32_t anomaly_mode() { return thread_state.anomaly; }
int32_t live_tracking_set(int32_t enabled) { return track_live(enabled != 0) ? 1 : 0; }

tenon_status mode_enter(const char* name, tenon_handler_function handler, void* self, int32_t below,
                        tenon_mode** mode, tenon_error** error) {
  return guarded(error, [&] {
    if (handler == nullptr) throw Error(TENON_ERROR_ARGUMENT, "the handler of a mode is null");
    require_not_null(self, "the state of a mode");
    *mode = reinterpret_cast<tenon_mode*>(
        enter_mode(name == nullptr ? "" : name, handler, self, below != 0));
  });
}
int64_t mode_count() {
  int64_t count = 0;
  if (thread_state.modes_disabled) return 0;
  for (const ModeEntry* mode = thread_state.mode; mode != nullptr; mode = mode->outer)
    count += mode->left.load() ? 0 : 1;
  return count;
}
uint32_t dispatch_disabled() {
  return (thread_state.types_disabled ? uint32_t{TENON_DISABLE_TYPES} : 0) |
         (thread_state.modes_disabled ? uint32_t{TENON_DISABLE_MODES} : 0);
}
uint32_t dispatch_disable(uint32_t what) {
  const uint32_t previous = dispatch_disabled();
  thread_state.types_disabled = (what & TENON_DISABLE_TYPES) != 0;
  thread_state.modes_disabled = (what & TENON_DISABLE_MODES) != 0;
  refresh_mode_flag();
  return previous;
}
int32_t type_dispatches(uint32_t type) {
  const TypeTable& table = TypeTable::process();
  return type != 0 && table.known(type) && table.at(type).dispatches() ? 1 : 0;
}
tenon_status mode_enter_module(tenon_module* module, int32_t below, tenon_mode** mode,
                               tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    *mode = reinterpret_cast<tenon_mode*>(enter_module(*module, below != 0));
  });
}
tenon_status mode_leave(tenon_mode* mode, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(mode, "the mode");
    leave_mode(reinterpret_cast<ModeEntry*>(mode));
  });
}
tenon_status trace_enter(int32_t json, void (*write)(void* self, const char* line, int64_t length),
                         void* self, tenon_trace** trace, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(reinterpret_cast<const void*>(write), "what writes a trace's lines");
    *trace = reinterpret_cast<tenon_trace*>(enter_trace(json != 0, write, self));
  });
}
tenon_status trace_leave(tenon_trace* trace, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(trace, "the trace");
    leave_trace(reinterpret_cast<TraceEntry*>(trace));
  });
}

}  // namespace

void add_mode_slots(Services& services) {
  services.autograd.inference_mode_set = inference_mode_set;
  services.autograd.inference_mode = inference_mode;
  services.autograd.anomaly_mode_set = anomaly_mode_set;
  services.autograd.anomaly_mode = anomaly_mode;
  services.graph.tracking_set = live_tracking_set;
  services.modes.enter = mode_enter;
  services.modes.leave = mode_leave;
  services.modes.count = mode_count;
  services.types.dispatches = type_dispatches;
  services.modes.trace_enter = trace_enter;
  services.modes.trace_leave = trace_leave;
  services.modes.enter_module = mode_enter_module;
  services.modes.disable = dispatch_disable;
  services.modes.disabled = dispatch_disabled;
  services.modes.shapes_only_set = set_shapes_only;
}

}  // namespace tenon::core
