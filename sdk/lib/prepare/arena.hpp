// One block of memory for results that are alive at different times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace prepared {

// A result that is needed from call `first` to call `last`, both included.
struct Lifetime {
  size_t first = 0, last = 0;
  int64_t bytes = 0;
  int64_t offset = 0;
};

// Sets the offsets, multiples of 64, so that no two that overlap in time overlap in memory: the
// largest first, each at the lowest place where it fits. Returns the bytes of all.
int64_t place_lifetimes(std::vector<Lifetime>& lifetimes);

}  // namespace prepared

TENON_NAMESPACE_END
