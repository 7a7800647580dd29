// Flags of descriptors, of which a plugin of a newer SDK may set one that this host does not know.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace tenon::core {

// All flags up to the newest one.
constexpr uint32_t flags_through(uint32_t newest) { return newest | (newest - 1); }

// "flags that this Tenon does not know: 0x8000"; "" where each is `known`. An unknown flag asks for something that
// this host would leave undone.
inline std::string unknown_flags(int64_t flags, uint32_t known) {
  const uint64_t unknown = static_cast<uint64_t>(flags) & ~uint64_t{known};
  if (unknown == 0) return {};
  return format_text("flags that this Tenon does not know: {:#x}", unknown);
}
constexpr const char* kUnknownFlagsRemedy =
    "update Tenon, or build the plugin with the SDK of this one";

// ArgumentError for `what`, an argument of the host's functions, with an unknown flag.
inline void require_flags(const char* what, uint32_t flags, uint32_t known) {
  if (const std::string unknown = unknown_flags(flags, known); !unknown.empty())
    throw Error(TENON_ERROR_ARGUMENT, "{}: {}; {}", what, unknown, kUnknownFlagsRemedy);
}

}  // namespace tenon::core
