// Cases that this machine cannot run. An entry of ctest with one of them counts as skipped where none fails.
#pragma once

#include <atomic>

#include <doctest/doctest.h>

namespace skipped {

inline constexpr int kExitCode = 77;  // SKIP_RETURN_CODE of the entries
inline std::atomic<int> cases{0};

// For a case that returns now.
inline void note(const char* why) {
  ++cases;
  MESSAGE("skipped: ", why);
}

}  // namespace skipped
