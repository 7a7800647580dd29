// Events of a profile in the Trace Event Format: JSON with a complete event ("ph": "X") for each call, its times
// in microseconds. https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#include <set>

#include <tenon/profile/profile.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace profile {

namespace {

// The text as a value of JSON, quotes included.
std::string quoted(const std::string& text) { return JsonArray().add(text).json()[0].dump(); }

// Microseconds with all digits of a nanosecond.
std::string microseconds(int64_t nanoseconds) {
  return lib::format_text("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

std::string metadata(const char* kind, int32_t thread, const std::string& name) {
  return lib::format_text(R"({{"name":"{}","ph":"M","pid":1,"tid":{},"args":{{"name":{}}}}})", kind,
                          thread, quoted(name));
}

// Text that all events of a row share: before "ts", and behind "dur".
struct RowText {
  std::string begin, end;
};
RowText text_of(const std::string& name, const char* category, const std::string& arguments) {
  return {lib::format_text(R"({{"name":{},"cat":"{}","ph":"X","pid":1,)", quoted(name), category),
          lib::format_text(R"("args":{{{}}}}})", arguments)};
}

}  // namespace

std::string trace_events(const Profile& profile, const std::string& title) {
  std::vector<RowText> calls, modules;
  for (const CallRow& call : profile.calls) {
    std::string arguments =
        lib::format_text(R"("provider":{},"operands":{},"bytes":{})", quoted(call.provider),
                         quoted(call.operands), call.calls > 0 ? call.bytes / call.calls : 0);
    if (call.multiply_adds >= 0 && call.calls > 0)
      arguments += lib::format_text(R"(,"multiply_adds":{})", call.multiply_adds / call.calls);
    if (call.module >= 0)
      arguments += lib::format_text(R"(,"module":{})",
                                    quoted(profile.modules[static_cast<size_t>(call.module)].name));
    calls.push_back(text_of(call.op, call.backward ? "backward" : "op", arguments));
  }
  for (const ModuleRow& module : profile.modules) {
    modules.push_back(text_of(module.name.empty() ? module.type : module.name, "module",
                              lib::format_text(R"("type":{})", quoted(module.type))));
  }
  std::string text = R"({"displayTimeUnit":"ns","traceEvents":[)"
                     "\n";
  text += metadata("process_name", 0, title);
  std::set<int32_t> threads;
  for (const CallEvent& event : profile.events) threads.insert(event.thread);
  for (const int32_t thread : threads) {
    text += ",\n";
    text += metadata("thread_name", thread,
                     thread == 0 ? "main" : lib::format_text("thread {}", thread));
  }
  for (const CallEvent& event : profile.events) {
    const RowText& row = (event.of_module ? modules : calls)[static_cast<size_t>(event.row)];
    text += lib::format_text(",\n{}\"tid\":{},\"ts\":{},\"dur\":{},{}", row.begin, event.thread,
                             microseconds(event.begin), microseconds(event.nanoseconds), row.end);
  }
  return text + "\n]}\n";
}

}  // namespace profile

TENON_NAMESPACE_END
