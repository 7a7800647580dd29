// Reference counting that needs no locked instruction while the process has a single thread.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define TENON_KNOWS_SINGLE_THREAD 1
#endif
#endif

namespace tenon::core {

// The C library's word on it, which it takes back before a second thread starts.
inline bool single_threaded() noexcept {
#if defined(TENON_KNOWS_SINGLE_THREAD)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

inline void count_up(std::atomic<int32_t>& count) noexcept {
  if (single_threaded()) {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  } else {
    count.fetch_add(1, std::memory_order_relaxed);
  }
}

// True when that was the last reference.
inline bool count_down(std::atomic<int32_t>& count) noexcept {
  if (single_threaded()) {
    const int32_t left = count.load(std::memory_order_relaxed) - 1;
    count.store(left, std::memory_order_relaxed);
    return left == 0;
  }
  return count.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

}  // namespace tenon::core
