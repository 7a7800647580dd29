// Structs of the boundary that grow at their end, with their size first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tenon::core {

// A copy of one from an older or newer SDK: what it lacks reads as zero, what is not known here is
// left out.
template <class Struct>
Struct copy_growable(const Struct& given) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  Struct copy{};
  std::memcpy(&copy, &given, std::min<size_t>(given.size, sizeof(copy)));
  copy.size = sizeof(copy);
  return copy;
}

// Fills as much as a caller's struct of an older or newer SDK has, and sets its size to that.
template <class Struct>
void fill_growable(Struct full, Struct& caller) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  full.size = std::min<uint32_t>(caller.size, sizeof full);
  std::memcpy(&caller, &full, full.size);
}

}  // namespace tenon::core
