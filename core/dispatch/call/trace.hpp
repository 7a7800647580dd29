// Traces: what calls of a thread do, event by event, while there is a listener.
//
// Listening is a flag of every call, beside that of modes: without it nothing here is reached.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/table/op.hpp"
#include "tenon/abi/error.h"

namespace tenon::core {

using TraceWriter = void (*)(void* self, const char* line, int64_t length);

// A listener of a thread.
struct TraceEntry {
  bool json = false;
  TraceWriter write = nullptr;
  void* self = nullptr;
  uint32_t depth = 0;  // depth at which it began
  TraceEntry* outer = nullptr;
  std::atomic<bool> left{false};
  bool left_in_line = false;  // by what its lines are written to: it goes when they are
  CodeLease code;             // lease on the writer's code
};

// Until it is left, lines of this thread's events go to `write`; calls that it makes are not
// events. [this-thread]
TraceEntry* enter_trace(bool json, TraceWriter write, void* self);
// Nothing is written to it any more. Throws RuntimeError when it was entered on another thread.
void leave_trace(TraceEntry* trace);

// Whether TENON_TRACE has the whole process traced: text or json, to standard error or to
// TENON_TRACE_FILE.
bool process_is_traced();
// Makes this thread one of it.
inline void join_process_trace() { thread_state.call_flags |= kTraceFlag; }

inline bool tracing() { return (thread_state.call_flags & kTraceFlag) != 0; }

// The events, in the words that lines begin with.
namespace trace_event {
inline constexpr std::string_view mode = "mode", override_of_op = "override", handler = "handler",
                                  declined = "declined", parent = "parent", fallback = "fallback",
                                  convert = "convert", shapes = "shapes", kernel = "kernel",
                                  jvp = "jvp", disabled = "disabled";
}
// `what` names it in full: "handler of Logging". Only while there is a listener. [any-thread]
void trace(std::string_view event, const Implementation& implementation, const std::string& what,
           const std::string& provider = {}, const std::string& reason = {}) noexcept;
// Event of a failure; `error` is null where it came without words.
void trace_error(const Implementation& implementation, tenon_status status,
                 const tenon_error* error) noexcept;

// Puts the events of a scope inside of the event before.
class TraceDepth {
 public:
  explicit TraceDepth(bool deeper = true) : steps_(deeper ? 1 : 0) {
    thread_state.trace_depth += steps_;
  }
  ~TraceDepth() { thread_state.trace_depth -= steps_; }
  TraceDepth(const TraceDepth&) = delete;
  TraceDepth& operator=(const TraceDepth&) = delete;

 private:
  const uint32_t steps_;
};

}  // namespace tenon::core
