// Reading traces, and tensors by name as traces.
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

#include <tenon/record/trace.hpp>
#include <tenon/state/numpy_file.hpp>
#include <tenon/state/tensor_file.hpp>

#include "lib/base/format.hpp"
#include "lib/base/input_file.hpp"
#include "lib/base/text.hpp"
#include "summary.hpp"

TENON_NAMESPACE_BEGIN

namespace record {

namespace {

constexpr int64_t kMostBytes = int64_t{4} << 30;
constexpr int64_t kMostCount = int64_t{1} << 62;

[[noreturn]] void refuse_line(const std::string& what) { throw ValueError(what); }

Json member(const Json& object, const char* key, bool fits, const char* expected) {
  if (!fits) refuse_line(lib::format_text("'{}' must be {}", key, expected));
  return object[key];
}
std::string text_member(const Json& object, const char* key) {
  return member(object, key, object[key].is_text(), "text").text();
}

uint64_t parsed_hash(const std::string& text) {
  uint64_t hash = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, hash, 16);
  if (fault != std::errc() || stop != end) refuse_line("a checksum must be hexadecimal");
  return hash;
}

std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    double number = 0;
    const auto [stop, fault] = std::from_chars(at, end, number);
    if (fault == std::errc::invalid_argument || (stop < end && *stop != ' '))
      refuse_line("elements must be numbers with spaces between them");
    numbers.push_back(number);
    at = stop < end ? stop + 1 : stop;
  }
  return numbers;
}

Summary summary_of(const Json& object) {
  Summary summary;
  summary.name = text_member(object, "name");
  summary.dtype = text_member(object, "dtype");
  const Json shape = member(object, "shape", object["shape"].is_array(), "a list");
  int64_t count = 1;
  for (int64_t i = 0; i < shape.size(); ++i) {
    const int64_t size = shape[i].is_integer() ? shape[i].integer() : -1;
    if (size < 0 || (size > 0 && count > kMostCount / size))
      refuse_line("a shape has no such sizes");
    count *= size;
    summary.shape.push_back(size);
  }
  summary.hash = parsed_hash(text_member(object, "hash"));
  summary.nans = member(object, "nans", object["nans"].is_integer(), "a number").integer();
  const std::vector<double> range = numbers_of(text_member(object, "range"));
  if (range.size() != 3) refuse_line("'range' must have three numbers");
  summary.minimum = range[0];
  summary.maximum = range[1];
  summary.mean = range[2];
  summary.elements = numbers_of(text_member(object, "elements"));
  return summary;
}

TracedCall call_of(const Json& object) {
  TracedCall call;
  call.op = text_member(object, "op");
  call.provider = text_member(object, "provider");
  call.module = text_member(object, "module");
  call.backward = member(object, "backward", object["backward"].is_bool(), "a truth").as_bool();
  call.arguments = text_member(object, "arguments");
  const Json operands = member(object, "operands", object["operands"].is_array(), "a list");
  for (int64_t i = 0; i < operands.size(); ++i)
    call.operands.push_back(parsed_hash(operands[i].text()));
  const Json results = member(object, "results", object["results"].is_array(), "a list");
  for (int64_t i = 0; i < results.size(); ++i) call.results.push_back(summary_of(results[i]));
  return call;
}

Json end_of(const Json& object) {
  member(object, "end", object["end"].is_bool(), "a truth");
  const Json left_out = object["left_out"];
  member(object, "left_out", left_out.is_integer() && left_out.integer() >= 0,
         "a number that is not negative");
  member(object, "plugins", object["plugins"].is_array(), "a list");
  return object;
}

}  // namespace

Trace read_trace(const std::string& path) {
  const std::string text = lib::read_file(path, kMostBytes, "the trace ");
  if (text.compare(0, std::string_view(trace_beginning).size(), trace_beginning) != 0)
    refuse_line(
        lib::format_text("{}: this is not a trace of results, as `tenon run --trace` writes them",
                         lib::quote(path)));
  Trace trace;
  trace.path = path;
  int64_t line = 0;
  for (size_t start = 0; start < text.size(); ++line) {
    const size_t end = text.find('\n', start);
    // A line without its end is that of a run that was killed.
    if (end == std::string::npos) break;
    const std::string_view one(text.data() + start, end - start);
    start = end + 1;
    try {
      const Json object = Json::parse(one);
      if (!object.is_object()) refuse_line("a line must be an object");
      if (line == 0) {
        if (!object["tenon_trace"].is_integer() || object["tenon_trace"].integer() != 1)
          refuse_line("the file is of another version of the format");
        trace.header = object;
      } else if (trace.end.defined()) {
        refuse_line("a line is behind the end");
      } else if (object["end"].defined()) {
        trace.end = end_of(object);
      } else {
        trace.calls.push_back(call_of(object));
        trace.calls.back().index = static_cast<int64_t>(trace.calls.size()) - 1;
      }
    } catch (const Error& error) {
      throw ValueError(lib::format_text("{}:{}: {}", lib::quote(path), line + 1, error.what()));
    }
  }
  return trace;
}

Trace read_tensors(const std::string& path, int64_t most_elements) {
  const auto ends_in = [&](std::string_view end) {
    return path.size() >= end.size() &&
           path.compare(path.size() - end.size(), end.size(), end) == 0;
  };
  const state::NamedTensors tensors =
      ends_in(".npz") ? state::map_npz(path) : state::map_tensors(path);
  Trace trace;
  trace.path = path;
  trace.by_name = true;
  for (const auto& [name, tensor] : tensors) {
    TracedCall call;
    call.index = static_cast<int64_t>(trace.calls.size());
    call.op = name;
    call.results.push_back(summarize(tensor, "result", most_elements));
    trace.calls.push_back(std::move(call));
  }
  return trace;
}

}  // namespace record

TENON_NAMESPACE_END
