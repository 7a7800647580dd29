// Tensors by name looked for among the results of a trace.
#include <limits>
#include <utility>

#include <tenon/record/trace.hpp>

#include "distance.hpp"

TENON_NAMESPACE_BEGIN

namespace record {

namespace {

struct Result {
  const TracedCall* call;
  size_t result;
  bool used = false;

  const Summary& summary() const { return call->results[result]; }
};

}  // namespace

Comparison compare_tensors(const Trace& trace, const Trace& tensors, double tolerance) {
  constexpr auto none = SIZE_MAX;
  std::vector<Result> results;
  for (const TracedCall& call : trace.calls) {
    for (size_t r = 0; r < call.results.size(); ++r) results.push_back({&call, r});
  }
  // The nearest result of the shape from `begin` on; with `first` the first one that is near enough.
  const auto nearest = [&](const Summary& tensor, size_t begin, bool first, bool unused) {
    std::pair<size_t, double> best{none, std::numeric_limits<double>::infinity()};
    for (size_t i = begin; i < results.size(); ++i) {
      if ((unused && results[i].used) || results[i].summary().shape != tensor.shape) continue;
      const double far = distance(results[i].summary(), tensor).relative;
      if (best.first == none || far < best.second) best = {i, far};
      if (first && far <= tolerance) break;
    }
    return best;
  };
  Comparison found;
  std::vector<std::pair<const TracedCall*, size_t>>
      unmatched;  // with the place behind the last match
  size_t behind = 0;
  bool last_matched = false;
  for (const TracedCall& tensor : tensors.calls) {
    const Summary& summary = tensor.results.front();
    auto [place, far] = nearest(summary, behind, true, false);
    if (place == none || !(far <= tolerance))
      std::tie(place, far) = nearest(summary, 0, true, false);
    ++found.compared;
    last_matched = place != none && far <= tolerance;
    if (!last_matched) {
      unmatched.emplace_back(&tensor, behind);
      continue;
    }
    results[place].used = true;
    found.different_bits += results[place].summary().hash != summary.hash ? 1 : 0;
    behind = place + 1;
  }
  for (const auto& [tensor, begin] : unmatched) {
    const Summary& summary = tensor->results.front();
    // Tensors that no call returns are within other calls, where the last one is as expected.
    const auto [place, far] =
        last_matched ? std::pair(none, 0.0) : nearest(summary, begin, false, true);
    if (place == none) {
      found.missing.push_back(tensor->op);
      continue;
    }
    const Distance apart = distance(results[place].summary(), summary);
    Difference difference{*results[place].call,    *tensor,
                          results[place].result,   false,
                          apart.worst.has_value(), apart.worst.value_or(Worst())};
    difference.worst.difference = apart.relative;
    // One result for each call, so that both sides are the same place.
    difference.one.results = {results[place].summary()};
    difference.result = 0;
    ++found.different;
    if (found.first.empty()) found.first = {difference};
    if (found.largest.empty() || apart.relative > found.largest.front().worst.difference)
      found.largest = {difference};
  }
  found.compared -= static_cast<int64_t>(found.missing.size());
  if (!found.first.empty()) {
    found.outcome = Outcome::differ;
  } else if (found.compared == 0) {
    found.outcome = Outcome::not_comparable;
    found.reason = "no call returns a tensor of the shape and elements of one of the file";
  } else if (!last_matched) {
    found.outcome = Outcome::differ;
  }
  return found;
}

}  // namespace record

TENON_NAMESPACE_END
