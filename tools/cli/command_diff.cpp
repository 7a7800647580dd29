// tenon diff: the first call of two runs whose result differs.
#include <algorithm>
#include <cmath>
#include <optional>

#include <tenon/record/trace.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace record = tenon::record;

namespace {

struct DiffOptions {
  std::string one, other;
  double tolerance = -1;  // below 0: not given
  bool json = false;
};

// Bound of results of another runtime, whose sums have other orders.
constexpr double kOtherRuntime = 1e-4;

bool has_tensors(const std::string& path) {
  return path.ends_with(".npz") || path.ends_with(".safetensors");
}

std::string number(double value) {
  return std::isfinite(value) ? format_text("{:.6g}", value) : short_number(value);
}

std::string share(double difference) {
  return format_text("{:.2g} of the largest element", difference);
}

std::string place_text(const std::vector<int64_t>& place) {
  std::vector<std::string> indices;
  indices.reserve(place.size());
  for (const int64_t index : place) indices.push_back(std::to_string(index));
  return format_text("[{}]", join(indices, ", "));
}

std::string range_text(const record::Summary& summary) {
  std::string text = format_text("{} to {}, mean {}", number(summary.minimum),
                                 number(summary.maximum), number(summary.mean));
  if (summary.nans > 0) text += format_text(", {} nan", grouped(summary.nans));
  return text;
}

std::string either(const std::string& one, const std::string& other) {
  if (one == other) return one;
  return format_text("{} and {}", one.empty() ? "none" : one, other.empty() ? "none" : other);
}

std::string call_place(const record::TracedCall& call) {
  std::string text = format_text("call {}", grouped(call.index));
  if (call.backward) text += ", in backward";
  if (!call.module.empty()) text += format_text(", in {}", call.module);
  return text;
}

std::string shape_of(const record::Summary& summary) {
  return format_text("{}{}", summary.dtype, place_text(summary.shape));
}

// `tensors`: the other side is one by name, of another runtime.
std::string difference_text(const record::Difference& found, bool tensors) {
  const record::Summary& one = found.one.results[found.result];
  const record::Summary& other = found.other.results[found.result];
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += format_text("  {:<10} {}\n", name, value);
  };
  line("op", found.one.op);
  if (tensors) line("tensor", found.other.op);
  line("place", call_place(found.one));
  line("provider", tensors ? found.one.provider : either(found.one.provider, found.other.provider));
  line("arguments",
       tensors ? found.one.arguments : either(found.one.arguments, found.other.arguments));
  line("result", format_text("{}: {}", one.name, shape_of(one)));
  if (found.kept) {
    const double apart = found.worst.difference;
    line("worst",
         format_text("{}: {} and {}, {}", place_text(found.worst.place),
                     short_number(found.worst.one), short_number(found.worst.other),
                     std::isfinite(apart) ? "apart by " + share(apart) : "not both finite"));
  } else {
    line("worst", format_text("not among the {} elements that traces keep of it",
                              grouped(static_cast<int64_t>(one.elements.size()))));
  }
  line("ranges", either(range_text(one), range_text(other)));
  if (!tensors)
    line("operands", found.operands_differ
                         ? "differ as well: inputs, weights or a call that is not recorded"
                         : "are equal: this call is where the runs part");
  return text;
}

std::string calls_text(const char* which, const record::Comparison& found,
                       const std::vector<record::TracedCall>& calls) {
  std::string text = format_text("  {}\n", which);
  for (const record::TracedCall& call : calls)
    text += format_text("  {} {:>6}  {}({})\n", call.index == found.compared ? ">" : " ",
                        grouped(call.index), call.op, call.arguments);
  return text + (calls.empty() || calls.back().index < found.compared
                     ? format_text("  > {:>6}  (no call)\n", grouped(found.compared))
                     : "");
}

std::string comparison_text(const record::Comparison& found, double tolerance, bool tensors,
                            bool one_side) {
  const char* const what = one_side || tensors ? "tensor" : "call";
  std::string text = counted(found.compared, what) + " compared";
  if (found.compared > 0) text += ": ";
  if (found.different > 0) {
    text += format_text("{} differ{}", grouped(found.different), found.different == 1 ? "s" : "");
    if (tolerance > 0) text += format_text(" by more than {:.2g}", tolerance);
    text += "; the first:\n\n" + difference_text(found.first.front(), one_side);
  } else if (found.compared == 0) {
    text += "\n";
  } else if (found.different_bits == 0) {
    text += "all bits are equal\n";
  } else {
    text += format_text(
        "no kept element, extreme or mean differs by more than {:.2g}; the bits of {} differ\n",
        tolerance, grouped(found.different_bits));
  }
  if (!found.largest.empty() && !found.first.empty() &&
      found.largest.front().one.index != found.first.front().one.index)
    text += format_text("\nThe largest difference, {}, is that of {} ({}).\n",
                        std::isfinite(found.largest.front().worst.difference)
                            ? share(found.largest.front().worst.difference)
                            : "where one side is not finite",
                        found.largest.front().one.op, call_place(found.largest.front().one));
  if (!found.reason.empty()) {
    text += format_text("\nThe runs cannot be compared {}: {}\n",
                        found.compared > 0 ? "from there on" : "at all", found.reason);
    if (!found.one.empty() || !found.other.empty())
      text +=
          "\n" + calls_text("first", found, found.one) + calls_text("second", found, found.other);
  }
  if (!found.missing.empty()) {
    std::vector<std::string> names(
        found.missing.begin(), found.missing.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(
                                                           found.missing.size(), 8)));
    if (names.size() < found.missing.size())
      names.push_back(format_text(
          "and {} more", grouped(static_cast<int64_t>(found.missing.size() - names.size()))));
    text += format_text(
        "\n{}: {}\n",
        !one_side ? "Only one file has these"
        // Else the last tensor, which is what the model returns, was found.
        : found.outcome == record::Outcome::equal || found.compared == 0 || found.different > 0
            ? "No call returns these, which are within other calls"
            : "No call returns these, the file's last tensor among them",
        join(names, ", "));
  }
  if (!found.notes.empty()) {
    text += "\nThe runs are not the same:\n";
    for (const std::string& note : found.notes) text += format_text("  {}\n", note);
  }
  return text;
}

int compare_runs(const DiffOptions& options) {
  const bool one_tensors = has_tensors(options.one), other_tensors = has_tensors(options.other);
  if (one_tensors && !other_tensors)
    throw UsageError("name the trace first, then the file of tensors by name");
  const bool mixed = other_tensors && !one_tensors;
  const double tolerance = options.tolerance >= 0 ? options.tolerance
                           : other_tensors        ? kOtherRuntime
                                                  : 0;
  const auto read = [&](const std::string& path) {
    return has_tensors(path) ? record::read_tensors(path) : record::read_trace(path);
  };
  const record::Trace one = read(options.one), other = read(options.other);
  const record::Comparison found = mixed ? record::compare_tensors(one, other, tolerance)
                                         : record::compare(one, other, tolerance);
  if (options.json)
    print_json(record::document(found));
  else
    print_fitted(comparison_text(found, tolerance, other_tensors, mixed));
  return found.outcome == record::Outcome::equal ? kFine : kFault;
}

}  // namespace

void define_diff(Commands& commands) {
  auto [command, options] = commands.add(
      compare_runs, "diff", "Find the first call of two runs whose result differs",
      "  tenon diff one.trace two.trace\n"
      "  tenon diff one.trace two.trace --tolerance 1e-5\n"
      "  tenon diff model.trace onnxruntime.npz\n"
      "  tenon run digits.json --trace one.trace && tenon diff one.trace two.trace\n"
      "A trace has a checksum of each result, its range and some of its elements, so runs of two "
      "machines, providers, thread counts or versions are compared by their files. A file of "
      "tensors by name, .npz or .safetensors, has what another runtime returned: of an ONNX model "
      "tools/onnx_values.py writes one. Exits with status 1 where the runs differ or cannot be "
      "compared.");
  command.argument(options.one, "RUN1", "A trace, as --trace writes it, or a file of tensors");
  command.argument(options.other, "RUN2", "Another one");
  command.number("--tolerance", options.tolerance, 0, 1, "R",
                 "Part of a result's largest element that an element may differ by (0: no bit; "
                 "0.0001 beside a file of tensors)");
  command.json(options.json);
}

}  // namespace cli
