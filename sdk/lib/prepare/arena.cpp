#include "arena.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

#include "tensors.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

namespace {

// Each in its order, at the lowest place where it fits. Returns the bytes of all.
int64_t place_in_order(std::vector<Lifetime>& lifetimes, const std::vector<size_t>& order) {
  constexpr int64_t line = 64;
  const auto rounded = [](int64_t bytes) { return (bytes + line - 1) / line * line; };
  std::vector<size_t> placed;  // by offset
  int64_t total = 0;
  for (const size_t i : order) {
    Lifetime& own = lifetimes[i];
    int64_t offset = 0;
    for (const size_t j : placed) {
      const Lifetime& other = lifetimes[j];
      if (other.last < own.first || own.last < other.first) continue;
      if (offset + rounded(own.bytes) <= other.offset) break;
      offset = std::max(offset, other.offset + rounded(other.bytes));
    }
    own.offset = offset;
    total = std::max(total, offset + rounded(own.bytes));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                   [&](int64_t at, size_t j) { return at < lifetimes[j].offset; }),
                  i);
  }
  return total;
}

}  // namespace

int64_t place_lifetimes(std::vector<Lifetime>& lifetimes) {
  std::vector<size_t> by_time(lifetimes.size());
  std::iota(by_time.begin(), by_time.end(), size_t{0});
  std::vector<size_t> by_size = by_time, by_both = by_time;
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  const auto product = [&](size_t i) {
    return static_cast<double>(lifetimes[i].bytes) *
           static_cast<double>(lifetimes[i].last - lifetimes[i].first + 1);
  };
  std::stable_sort(by_both.begin(), by_both.end(),
                   [&](size_t a, size_t b) { return product(a) > product(b); });
  std::vector<Lifetime> best;
  int64_t least = INT64_MAX;
  for (const std::vector<size_t>* order : {&by_size, &by_both, &by_time}) {
    std::vector<Lifetime> placed = lifetimes;
    const int64_t total = place_in_order(placed, *order);
    if (total >= least) continue;
    least = total;
    best = std::move(placed);
  }
  lifetimes = std::move(best);
  return least;
}

int64_t most_at_once(const CallList& list, const std::vector<bool>& in_block) {
  std::map<int64_t, Lifetime> lifetimes;  // by memory
  std::set<int64_t> counted;              // memory of the block, of arguments and of constants
  for (const ListValue& value : list.values) {
    if (value.kind != ListValue::Kind::result) counted.insert(value.memory);
  }
  const size_t calls = list.calls.size();
  for (size_t i = 0; i < calls; ++i) {
    const ListedCall& call = list.calls[i];
    for_each_value(call.results, [&](size_t number) {
      const ListValue& value = list.values[number];
      if (in_block[i]) counted.insert(value.memory);
      if (counted.count(value.memory) == 0)
        lifetimes.try_emplace(value.memory, Lifetime{i, i, bytes_of(value.layout), 0});
    });
    for_each_value(call.arguments, [&](size_t number) {
      const auto found = lifetimes.find(list.values[number].memory);
      if (found != lifetimes.end()) found->second.last = i;
    });
  }
  for_each_value(list.outputs, [&](size_t number) {
    const auto found = lifetimes.find(list.values[number].memory);
    if (found != lifetimes.end()) found->second.last = calls;
  });
  std::vector<int64_t> changes(calls + 2, 0);
  for (const auto& [memory, lifetime] : lifetimes) {
    changes[lifetime.first] += lifetime.bytes;
    changes[lifetime.last + 1] -= lifetime.bytes;
  }
  int64_t now = 0, most = 0;
  for (const int64_t change : changes) most = std::max(most, now += change);
  return most;
}

}  // namespace prepared

TENON_NAMESPACE_END
