// A clock for measuring very short times: half the price of a clock of the C++ library where the processor counts
// at one rate whatever its frequency, that clock elsewhere.
//
//   const kernel::TickClock clock;
//   const int64_t begin = clock.now();
//   ...
//   const double nanoseconds = static_cast<double>(clock.now() - begin) * clock.rate();
#pragma once

#include <chrono>
#include <cstdint>

#include "tenon/host.hpp"

TENON_NAMESPACE_BEGIN

namespace kernel {

// Nanoseconds of the steady clock.
inline int64_t steady_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

#if defined(__x86_64__)
// Whether the counter of this processor has one rate.
inline bool has_steady_ticks() {
  constexpr uint32_t extended = 0x80000000u, power = 0x80000007u;
  const auto cpuid = [](uint32_t leaf, uint32_t& a, uint32_t& d) {
    uint32_t b = 0, c = 0;
    __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(leaf), "c"(0));
  };
  uint32_t last = 0, features = 0;
  cpuid(extended, last, features);
  if (last < power) return false;
  cpuid(power, last, features);
  return (features & (1u << 8)) != 0;
}
inline int64_t counted_ticks() { return static_cast<int64_t>(__builtin_ia32_rdtsc()); }
#else
inline bool has_steady_ticks() { return false; }                 // not on this processor
inline int64_t counted_ticks() { return steady_nanoseconds(); }  // the clock instead
#endif

// Ticks of one thread or of several, as long as the object lives, and the times that they stand for.
class TickClock {
 public:
  TickClock()
      : counts_(has_steady_ticks()), start_(now()), start_nanoseconds_(steady_nanoseconds()) {}

  // Ticks, or nanoseconds.
  int64_t now() const { return counts_ ? counted_ticks() : steady_nanoseconds(); }
  // Nanoseconds of a tick, as far as is known now: the longer the object lives, the closer.
  double rate() const {
    const int64_t passed = now() - start_;
    return passed > 0 ? static_cast<double>(steady_nanoseconds() - start_nanoseconds_) /
                            static_cast<double>(passed)
                      : 1.0;
  }
  // Ticks when the object was made.
  int64_t start() const { return start_; }

 private:
  const bool counts_;
  const int64_t start_, start_nanoseconds_;
};

}  // namespace kernel

TENON_NAMESPACE_END
