// Traces: what the calls of a thread do, event by event. A whole process is traced, by all of its
// threads, with TENON_TRACE=text or json in its environment, to standard error or TENON_TRACE_FILE.
//
//   TraceScope trace;
//   logging + 1;
//   std::puts(trace.text().c_str());
//
//   call add(Logging f32[2], 1)
//     handler of Logging (plugin types)
//       parent
//         default handler (plugin tenon)
//           kernel add (plugin math)
//
// Events: call, mode, override, handler, declined, parent, fallback, convert, disabled, shapes,
// kernel, jvp, error; sdk/docs/how_to/debug.md says when each comes. As JSON each is an object with
// event, depth and op, and the members that the event has:
//   {"event":"call","depth":0,"op":"add","arguments":["Tensor f32[2]","1"],"keywords":{"alpha":"2"}}
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/value.hpp"

TENON_NAMESPACE_BEGIN

enum class TraceFormat { text, json };  // a line, or a JSON object, for each call

// Listens to this thread, and dies on it; scopes nest, and each hears everything.
class TraceScope {
 public:
  explicit TraceScope(TraceFormat format = TraceFormat::text)  // until destroyed, on this thread
      : TraceScope(format, [this](std::string_view line) { lines_.emplace_back(line); }) {}
  // Each line is handed over as it happens. `write` must not call ops.
  TraceScope(TraceFormat format, std::function<void(std::string_view)> write)
      : write_(std::move(write)) {
    detail::check(service::modes().trace_enter, format == TraceFormat::json ? 1 : 0,
                  &TraceScope::hand_over, static_cast<void*>(this), &trace_);
  }
  ~TraceScope() { service::modes().trace_leave(trace_, nullptr); }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  // Lines collected so far.
  const std::vector<std::string>& lines() const { return lines_; }
  std::string text() const {  // lines up to now
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }

 private:
  static void hand_over(void* self, const char* line, int64_t length) {
    try {
      static_cast<TraceScope*>(self)->write_({line, static_cast<size_t>(length)});
    } catch (...) {  // a line that cannot be written does not stop the call
    }
  }
  std::function<void(std::string_view)> write_;
  std::vector<std::string> lines_;
  tenon_trace* trace_ = nullptr;
};

TENON_NAMESPACE_END
