// Service modes: modes, traces, and what is switched off for the calling thread.
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/call/trace.hpp"
#include "core/dispatch/types/modes.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/nn/module.hpp"
#include "core/nn/module_watch.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

namespace {

uint32_t disabled() {
  return (thread_state.types_disabled ? uint32_t{TENON_DISABLE_TYPES} : 0) |
         (thread_state.modes_disabled ? uint32_t{TENON_DISABLE_MODES} : 0);
}

}  // namespace

constinit const tenon_modes_service modes_service{
    .head = {},
    .enter = slot([](const char* name, tenon_handler_function handler, void* self, int32_t below) {
      if (handler == nullptr) throw Error(TENON_ERROR_ARGUMENT, "the handler of a mode is null");
      require_not_null(self, "the state of a mode");
      ModeEntry* const mode = enter_mode(name == nullptr ? "" : name, handler, self, below == 1);
      mode->counted = below != 2;
      return reinterpret_cast<tenon_mode*>(mode);
    }),
    .enter_module = slot([](tenon_module* module, int32_t below) {
      return reinterpret_cast<tenon_mode*>(enter_module(checked(module, "the module"), below != 0));
    }),
    .leave = slot([](tenon_mode* mode) {
      require_not_null(mode, "the mode");
      leave_mode(reinterpret_cast<ModeEntry*>(mode));
    }),
    .count = []() -> int64_t {
      int64_t count = 0;
      if (thread_state.modes_disabled) return count;
      for (const ModeEntry* mode = thread_state.mode; mode != nullptr; mode = mode->outer)
        count += mode->counted && !mode->left.load() ? 1 : 0;
      return count;
    },
    .disable = [](uint32_t what) -> uint32_t {
      const uint32_t previous = disabled();
      thread_state.types_disabled = (what & TENON_DISABLE_TYPES) != 0;
      thread_state.modes_disabled = (what & TENON_DISABLE_MODES) != 0;
      refresh_mode_flag();
      return previous;
    },
    .disabled = disabled,
    .shapes_only_set = set_shapes_only,
    .trace_enter = slot(
        [](int32_t json, void (*write)(void* self, const char* line, int64_t length), void* self) {
          require_not_null(reinterpret_cast<const void*>(write), "what writes a trace's lines");
          return reinterpret_cast<tenon_trace*>(enter_trace(json != 0, write, self));
        }),
    .trace_leave = slot([](tenon_trace* trace) {
      require_not_null(trace, "the trace");
      leave_trace(reinterpret_cast<TraceEntry*>(trace));
    }),
    .watch_enter = slot([](tenon_module_watch_function function, void* self, uint32_t flags) {
      require_not_null(reinterpret_cast<const void*>(function), "what watches modules");
      require_flags("a watch", flags, TENON_WATCH_IN_LOOPS);
      return reinterpret_cast<tenon_watch*>(enter_watch(function, self, flags != 0));
    }),
    .watch_leave = slot([](tenon_watch* watch) {
      require_not_null(watch, "the watch");
      leave_watch(reinterpret_cast<ModuleWatch*>(watch));
    }),
    .watches = [] { return count_watches(); },
};

}  // namespace tenon::core
