// One block of memory for results that are alive at different times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/prepare/call_list.hpp>

TENON_NAMESPACE_BEGIN

namespace prepared {

// A result that is needed from call `first` to call `last`, both included.
struct Lifetime {
  size_t first = 0, last = 0;
  int64_t bytes = 0;
  int64_t offset = 0;
};

// Sets the offsets, multiples of 64, so that no two that overlap in time overlap in memory: in several orders,
// each at the lowest place where it fits; the best stays. Returns the bytes of all.
int64_t place_lifetimes(std::vector<Lifetime>& lifetimes);

// Bytes of the results that exist at the same time at most, each from its call to the last call that reads it
// or to the end; without those of calls that are `in_block`.
int64_t most_at_once(const CallList& list, const std::vector<bool>& in_block);

}  // namespace prepared

TENON_NAMESPACE_END
