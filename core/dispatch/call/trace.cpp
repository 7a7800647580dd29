// Lines for events, and who gets them.
#include "core/dispatch/call/trace.hpp"

#include <cstdio>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <mutex>

#include "core/base/environment.hpp"
#include "core/base/error.hpp"
#include "core/base/fork.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/binding/call_frame.hpp"
#include "core/dispatch/binding/value.hpp"

namespace tenon::core {

namespace {

// The process's trace, as the environment sets it up.
struct ProcessTrace {
  bool on = false;
  TraceEntry entry;
  std::FILE* file = stderr;
  std::mutex mutex;
  const HeldAcrossFork held{mutex};

  ProcessTrace() {
    const char* format = environment("TENON_TRACE");
    const std::string_view chosen = format == nullptr ? "" : format;
    if (chosen.empty()) return;
    if (chosen != "text" && chosen != "json") {
      log(LogLevel::warning, "", format_text("TENON_TRACE is text or json, not {}", quote(chosen)));
      return;
    }
    on = true;
    entry.json = chosen == "json";
    entry.self = this;
    entry.write = [](void* self, const char* line, int64_t length) {
      auto& trace = *static_cast<ProcessTrace*>(self);
      const std::lock_guard lock(trace.mutex);
      std::fwrite(line, 1, static_cast<size_t>(length), trace.file);
      std::fputc('\n', trace.file);
      std::fflush(trace.file);
    };
    const char* path = environment("TENON_TRACE_FILE");
    if (path == nullptr || *path == '\0') return;
    // A named pipe without a reader would block the first call.
    const int descriptor =
        ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    std::FILE* const opened = descriptor < 0 ? nullptr : ::fdopen(descriptor, "a");
    if (opened != nullptr) {
      ::fcntl(descriptor, F_SETFL, O_APPEND);  // a write to one that is read may wait
      file = opened;
    } else {
      log(LogLevel::warning, "",
          format_text("TENON_TRACE_FILE: cannot write {}; the trace goes to standard error",
                      quote(path)));
    }
  }
};
ProcessTrace& process_trace() {
  static auto* const trace = new ProcessTrace;  // static destructors may call ops
  return *trace;
}

void refresh_flag() {
  const bool heard = thread_state.trace != nullptr || process_trace().on;
  thread_state.call_flags = (thread_state.call_flags & ~kTraceFlag) | (heard ? kTraceFlag : 0);
}

constinit thread_local bool emits_event = false;

// Held while events are delivered: calls of a listener are not traced, and listeners are removed
// only afterwards.
class EmitScope {
 public:
  EmitScope() { emits_event = true; }
  ~EmitScope() {
    emits_event = false;
    for (TraceEntry** place = &thread_state.trace; *place != nullptr;) {
      TraceEntry* entry = *place;
      if (!entry->left_in_line) {
        place = &entry->outer;
        continue;
      }
      *place = entry->outer;
      delete entry;
    }
    refresh_flag();
  }
  EmitScope(const EmitScope&) = delete;
  EmitScope& operator=(const EmitScope&) = delete;
  static bool under_way() { return emits_event; }
};

// One event for all listeners: `text` follows the indent of lines, `members` those of every JSON
// event.
void publish(std::string_view event, const Implementation& implementation, const std::string& text,
             const std::function<void(JsonBuilder&)>& members) {
  if (EmitScope::under_way()) return;
  const EmitScope emitting;
  const auto tell = [&](const TraceEntry& listener) {
    if (listener.left.load()) return;
    const uint32_t depth =
        thread_state.trace_depth - std::min(listener.depth, thread_state.trace_depth);
    std::string line = std::string(size_t{2} * depth, ' ') + text;
    if (listener.json) {
      JsonBuilder document;
      document.begin_object()
          .member("event", event)
          .member("depth", depth)
          .member("op", implementation.schema.name);
      members(document);
      document.end_object();
      line = dump(*document.finish());
    }
    listener.write(listener.self, line.data(), static_cast<int64_t>(line.size()));
  };
  for (const TraceEntry* listener = thread_state.trace; listener != nullptr;
       listener = listener->outer)
    tell(*listener);
  if (process_trace().on) tell(process_trace().entry);
}

// An event that cannot be reported does not stop the call.
template <class Report>
void without_failing(Report&& report) noexcept {
  try {
    report();
  } catch (...) {
  }
}

}  // namespace

TraceEntry* enter_trace(bool json, TraceWriter write, void* self) {
  auto trace = std::make_unique<TraceEntry>();
  trace->json = json;
  trace->write = write;
  trace->code = lease_at(Holder::Scope, write);
  trace->self = self;
  trace->depth = thread_state.trace_depth;
  trace->outer = thread_state.trace;
  thread_state.trace = trace.get();
  refresh_flag();
  return trace.release();
}

void leave_trace(TraceEntry* trace) {
  trace->left.store(true);
  TraceEntry** place = &thread_state.trace;
  while (*place != nullptr && *place != trace) place = &(*place)->outer;
  if (*place == nullptr) {
    // Its own thread passes it over from now on, and may be looking at it: it stays.
    throw Error(TENON_ERROR_RUNTIME,
                "a trace is left on another thread than it was entered on; leave it there");
  }
  if (EmitScope::under_way()) {
    trace->left_in_line = true;
    return;
  }
  *place = trace->outer;
  delete trace;
  refresh_flag();
}

bool process_is_traced() { return process_trace().on; }

void trace(std::string_view event, const Implementation& implementation, const std::string& what,
           const std::string& provider, const std::string& reason) noexcept {
  without_failing([&] {
    const std::string text = what + (reason.empty() ? "" : format_text(": {}", reason)) +
                             (provider.empty() ? "" : format_text(" (plugin {})", provider));
    publish(event, implementation, text, [&](JsonBuilder& document) {
      document.member("what", what);
      if (!reason.empty()) document.member("reason", reason);
      if (!provider.empty()) document.member("provider", provider);
    });
  });
}

void trace_error(const Implementation& implementation, tenon_status status,
                 const tenon_error* error) noexcept {
  without_failing([&] {
    const char* const kind = error_kind_text(status);
    const std::string message = error == nullptr ? "" : error->error.message;
    publish(
        "error", implementation, format_text("error {}: {}", kind, message),
        [&](JsonBuilder& document) { document.member("kind", kind).member("message", message); });
  });
}

namespace {

void trace_call(const Call& call) noexcept {
  without_failing([&] {
    tenon_call view{};
    WrittenCall written;
    fill_view(view, call, written);
    std::vector<std::string> positional, named, all;
    for (int64_t i = 0; i < view.positional_count; ++i)
      all.push_back(positional.emplace_back(brief_text(view.positional[i])));
    const auto keyword = [&](size_t k) {
      return std::string(view.keywords[k].data, static_cast<size_t>(view.keywords[k].length));
    };
    for (int64_t k = 0; k < view.keyword_count; ++k) {
      named.push_back(brief_text(view.keyword_values[k]));
      all.push_back(format_text("{}={}", keyword(static_cast<size_t>(k)), named.back()));
    }
    publish("call", call.implementation,
            format_text("call {}({})", call.implementation.schema.name, join(all, ", ")),
            [&](JsonBuilder& document) {
              document.key("arguments").begin_array();
              for (const std::string& value : positional) document.value(value);
              document.end_array().key("keywords").begin_object();
              for (size_t k = 0; k < named.size(); ++k) document.member(keyword(k), named[k]);
              document.end_object();
            });
  });
}

}  // namespace

// Explains layers that change nothing that an explanation shows.
void explain_nothing(Explanation&) {}

tenon_status run_traced(Call& call) noexcept {
  trace_call(call);
  const TraceDepth inside;
  if (thread_state.types_disabled && (call.flags & TENON_TENSOR_TYPED) != 0)
    trace(trace_event::disabled, call.implementation, "types are disabled");
  if (thread_state.modes_disabled && thread_state.mode != nullptr)
    trace(trace_event::disabled, call.implementation, "modes are disabled");
  const tenon_status status = next<LayerId::trace>(call);
  if (status != TENON_OK)
    trace_error(call.implementation, status, call.error == nullptr ? nullptr : *call.error);
  return status;
}

}  // namespace tenon::core
