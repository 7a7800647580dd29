// Two traces, call by call.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <tenon/record/trace.hpp>
#include <tenon/text.hpp>

#include "distance.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace record {

namespace {

constexpr int64_t kAround = 2;  // calls before and behind the place where sequences part

std::vector<int64_t> place_in(const std::vector<int64_t>& shape, int64_t place) {
  std::vector<int64_t> indices(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    indices[d] = place % std::max<int64_t>(shape[d], 1);
    place /= std::max<int64_t>(shape[d], 1);
  }
  return indices;
}

// inf where one is not a finite number and the other is not the same.
double relative(double one, double other, double scale) {
  if (one == other || (std::isnan(one) && std::isnan(other))) return 0;
  const double apart = std::abs(one - other);
  if (!std::isfinite(apart) || scale == 0) return std::numeric_limits<double>::infinity();
  return apart / scale;
}

std::string shape_text(const Summary& summary) {
  std::string text = summary.dtype + "[";
  for (size_t d = 0; d < summary.shape.size(); ++d)
    text += lib::format_text("{}{}", d > 0 ? ", " : "", summary.shape[d]);
  return text + "]";
}

// Why two calls are not of one sequence; empty: they are.
std::string parted(const TracedCall& one, const TracedCall& other) {
  if (one.op != other.op) return lib::format_text("{} and {} are called", one.op, other.op);
  if (one.results.size() != other.results.size())
    return lib::format_text("{} returns {} and {}", one.op,
                            counted(static_cast<int64_t>(one.results.size()), "tensor"),
                            other.results.size());
  for (size_t r = 0; r < one.results.size(); ++r) {
    const Summary &mine = one.results[r], &theirs = other.results[r];
    if (mine.dtype != theirs.dtype || mine.shape != theirs.shape)
      return lib::format_text("{} returns {} and {}", one.op, shape_text(mine), shape_text(theirs));
  }
  return "";
}

std::vector<TracedCall> around(const Trace& trace, int64_t place) {
  const auto count = static_cast<int64_t>(trace.calls.size());
  const int64_t begin = std::max<int64_t>(0, place - kAround);
  const int64_t end = std::min(count, place + kAround + 1);
  return begin >= end
             ? std::vector<TracedCall>()
             : std::vector<TracedCall>(trace.calls.begin() + begin, trace.calls.begin() + end);
}

bool operands_differ(const TracedCall& one, const TracedCall& other) {
  if (one.operands.size() != other.operands.size()) return true;
  for (size_t i = 0; i < one.operands.size(); ++i) {
    if (one.operands[i] != 0 && other.operands[i] != 0 && one.operands[i] != other.operands[i])
      return true;
  }
  return false;
}

std::string member_text(const Json& value) { return value.is_text() ? value.text() : value.dump(); }

// Differences of what the first lines say.
void note_headers(const Json& one, const Json& other, std::vector<std::string>& notes) {
  const auto note = [&](const std::string& what, const Json& mine, const Json& theirs) {
    const std::string a = mine.defined() ? member_text(mine) : "none";
    const std::string b = theirs.defined() ? member_text(theirs) : "none";
    if (a != b) notes.push_back(lib::format_text("{}: {} and {}", what, a, b));
  };
  for (const char* key : {"title", "version", "isa", "threads"}) note(key, one[key], other[key]);
  const Json mine = one["about"], theirs = other["about"];
  for (int64_t i = 0; i < mine.size(); ++i) note(mine.key(i), mine[i], theirs[mine.key(i)]);
  for (int64_t i = 0; i < theirs.size(); ++i) {
    if (!mine[theirs.key(i)].defined()) note(theirs.key(i), Json(), theirs[i]);
  }
}

void note_plugins(const Json& one, const Json& other, std::vector<std::string>& notes) {
  const auto by_id = [](const Json& list) {
    std::map<std::string, std::pair<std::string, std::string>> plugins;
    for (int64_t i = 0; i < list.size(); ++i)
      plugins[list[i]["id"].text()] = {list[i]["version"].text(), list[i]["sha256"].text()};
    return plugins;
  };
  const auto mine = by_id(one), theirs = by_id(other);
  for (const auto& [id, plugin] : mine) {
    const auto found = theirs.find(id);
    if (found == theirs.end()) {
      notes.push_back(lib::format_text("plugin {}: only in the first", id));
    } else if (plugin != found->second) {
      const auto text = [](const std::pair<std::string, std::string>& known) {
        return lib::format_text("{} (sha256 {})", known.first, known.second.substr(0, 12));
      };
      notes.push_back(
          lib::format_text("plugin {}: {} and {}", id, text(plugin), text(found->second)));
    }
  }
  for (const auto& [id, plugin] : theirs) {
    if (mine.count(id) == 0) notes.push_back(lib::format_text("plugin {}: only in the second", id));
  }
}

void note_end(const Trace& trace, const char* which, std::vector<std::string>& notes) {
  if (!trace.end.defined())
    notes.push_back(lib::format_text("the {} run did not come to its end: its trace has {}", which,
                                     counted(static_cast<int64_t>(trace.calls.size()), "call")));
  else if (trace.end["left_out"].integer() > 0)
    notes.push_back(lib::format_text("the {} trace leaves out the last {}", which,
                                     counted(trace.end["left_out"].integer(), "call")));
}

bool is_cut(const Trace& trace) {
  return !trace.by_name && (!trace.end.defined() || trace.end["left_out"].integer() > 0);
}

void compare_calls(const TracedCall& one, const TracedCall& other, double tolerance,
                   Comparison& found) {
  bool different = false, bits = false;
  for (size_t r = 0; r < one.results.size(); ++r) {
    const Summary &mine = one.results[r], &theirs = other.results[r];
    if (mine.hash == theirs.hash || mine.hash == 0 || theirs.hash == 0) continue;
    bits = true;
    const Distance far = distance(mine, theirs);
    Difference difference{one,
                          other,
                          r,
                          operands_differ(one, other),
                          far.worst.has_value(),
                          far.worst.value_or(Worst())};
    difference.worst.difference = far.relative;
    if (found.largest.empty() || far.relative > found.largest.front().worst.difference)
      found.largest = {difference};
    if (far.relative <= tolerance && tolerance > 0) continue;
    different = true;
    if (found.first.empty()) found.first = {difference};
  }
  found.different += different ? 1 : 0;
  found.different_bits += bits ? 1 : 0;
}

// Puts tensors in the order of the other's names; what one of them lacks is missing.
Trace in_order_of(const Trace& names, Trace trace, std::vector<std::string>& missing) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < trace.calls.size(); ++i) places[trace.calls[i].op] = i;
  std::vector<TracedCall> ordered;
  for (const TracedCall& call : names.calls) {
    const auto place = places.find(call.op);
    if (place == places.end()) {
      missing.push_back(call.op);
      continue;
    }
    ordered.push_back(trace.calls[place->second]);
    places.erase(place);
  }
  for (const auto& [name, place] : places) missing.push_back(name);
  trace.calls = std::move(ordered);
  return trace;
}

Json call_json(const TracedCall& call) {
  return JsonObject()
      .set("index", call.index)
      .set("op", call.op)
      .set("provider", call.provider)
      .set("module", call.module)
      .set("backward", call.backward)
      .set("arguments", call.arguments)
      .json();
}

// Numbers of JSON are finite.
JsonValue number_json(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
}

Json difference_json(const Difference& difference) {
  const Summary& one = difference.one.results[difference.result];
  const Summary& other = difference.other.results[difference.result];
  JsonObject object;
  object.set("one", call_json(difference.one))
      .set("other", call_json(difference.other))
      .set("result", one.name)
      .set("operands_differ", difference.operands_differ)
      .set("difference", number_json(difference.worst.difference));
  if (difference.kept) {
    JsonArray place;
    for (const int64_t index : difference.worst.place) place.add(index);
    object.set("element", JsonObject()
                              .set("place", place.json())
                              .set("one", number_json(difference.worst.one))
                              .set("other", number_json(difference.worst.other))
                              .json());
  } else {
    object.set("element", JsonValue());
  }
  const auto range = [](const Summary& summary) {
    return JsonObject()
        .set("minimum", number_json(summary.minimum))
        .set("maximum", number_json(summary.maximum))
        .set("mean", number_json(summary.mean))
        .set("nans", summary.nans)
        .json();
  };
  return object.set("one_range", range(one)).set("other_range", range(other)).json();
}

}  // namespace

Distance distance(const Summary& one, const Summary& other) {
  double scale = 0;
  for (const double number : {one.minimum, one.maximum, other.minimum, other.maximum}) {
    if (std::isfinite(number)) scale = std::max(scale, std::abs(number));
  }
  Distance found;
  const int64_t count = one.numel();
  const size_t kept = std::min(one.elements.size(), other.elements.size());
  const size_t parts = one.dtype == "c64" || one.dtype == "c128" ? 2 : 1;
  const std::vector<int64_t> places = kept_places(count, static_cast<int64_t>(kept / parts));
  for (size_t i = 0; i < kept && i / parts < places.size(); ++i) {
    const double apart = relative(one.elements[i], other.elements[i], scale);
    if (apart <= found.relative) continue;
    found.relative = apart;
    found.worst =
        Worst{place_in(one.shape, places[i / parts]), one.elements[i], other.elements[i], apart};
  }
  if (found.worst) return found;
  for (const auto& [mine, theirs] :
       {std::pair(one.minimum, other.minimum), std::pair(one.maximum, other.maximum),
        std::pair(one.mean, other.mean)})
    found.relative = std::max(found.relative, relative(mine, theirs, scale));
  if (one.nans != other.nans) found.relative = std::numeric_limits<double>::infinity();
  return found;
}

Comparison compare(const Trace& one, const Trace& given, double tolerance) {
  Comparison found;
  const bool tensors = one.by_name && given.by_name;
  const Trace other = tensors ? in_order_of(one, given, found.missing) : given;
  if (!tensors) {
    // A header or an end that is missing is noted by note_end alone.
    if (one.header.defined() && other.header.defined())
      note_headers(one.header, other.header, found.notes);
    if (one.end.defined() && other.end.defined())
      note_plugins(one.end["plugins"], other.end["plugins"], found.notes);
    note_end(one, "first", found.notes);
    note_end(other, "second", found.notes);
  }
  Trace first = one;
  if (tensors) {
    std::vector<std::string> ignored;
    first = in_order_of(other, one, ignored);
  }
  const size_t common = std::min(first.calls.size(), other.calls.size());
  size_t place = 0;
  for (; place < common; ++place) {
    found.reason = parted(first.calls[place], other.calls[place]);
    if (!found.reason.empty()) break;
    compare_calls(first.calls[place], other.calls[place], tolerance, found);
  }
  found.compared = static_cast<int64_t>(place);
  if (found.reason.empty() && first.calls.size() != other.calls.size()) {
    const bool first_ends = first.calls.size() < other.calls.size();
    if (!is_cut(first_ends ? first : other))
      found.reason = lib::format_text("the {} run has no more calls, the other continues with {}",
                                      first_ends ? "first" : "second",
                                      (first_ends ? other : first).calls[place].op);
  }
  if (!found.reason.empty()) {
    found.reason = lib::format_text("call {}: {}", place, found.reason);
    found.one = around(first, found.compared);
    found.other = around(other, found.compared);
  } else if (found.compared == 0) {
    found.reason = tensors ? "no tensor has one name in both" : "no call is in both";
  }
  if (!found.first.empty())
    found.outcome = Outcome::differ;
  else if (!found.reason.empty())
    found.outcome = Outcome::not_comparable;
  else if (!found.missing.empty())
    found.outcome = Outcome::differ;
  return found;
}

Json document(const Comparison& comparison) {
  const auto texts = [](const std::vector<std::string>& list) {
    JsonArray array;
    for (const std::string& text : list) array.add(text);
    return array.json();
  };
  const auto calls = [](const std::vector<TracedCall>& list) {
    JsonArray array;
    for (const TracedCall& call : list) array.add(call_json(call));
    return array.json();
  };
  const auto difference = [](const std::vector<Difference>& list) {
    return list.empty() ? JsonValue() : JsonValue(difference_json(list.front()));
  };
  const char* const outcome = comparison.outcome == Outcome::equal    ? "equal"
                              : comparison.outcome == Outcome::differ ? "differ"
                                                                      : "not comparable";
  return JsonObject()
      .set("outcome", outcome)
      .set("reason", comparison.reason.empty() ? JsonValue() : JsonValue(comparison.reason))
      .set("notes", texts(comparison.notes))
      .set("compared", comparison.compared)
      .set("different", comparison.different)
      .set("different_bits", comparison.different_bits)
      .set("first", difference(comparison.first))
      .set("largest", difference(comparison.largest))
      .set("one", calls(comparison.one))
      .set("other", calls(comparison.other))
      .set("missing", texts(comparison.missing))
      .json();
}

}  // namespace record

TENON_NAMESPACE_END
