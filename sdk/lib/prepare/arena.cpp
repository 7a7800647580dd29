#include "arena.hpp"

#include <algorithm>
#include <numeric>

TENON_NAMESPACE_BEGIN

namespace prepared {

int64_t place_lifetimes(std::vector<Lifetime>& lifetimes) {
  constexpr int64_t line = 64;
  const auto rounded = [](int64_t bytes) { return (bytes + line - 1) / line * line; };
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
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

}  // namespace prepared

TENON_NAMESPACE_END
