// A processor's own instructions in core: the one file of core that names them. A build with
// TENON_ISA=scalar uses none.
#pragma once

#include <cstdint>
#include <cstring>

#include "tenon/abi/elementwise.h"

#if defined(__SSE2__) && !defined(TENON_SCALAR)
#include <emmintrin.h>
#endif

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TENON_THREAD_SANITIZER 1
#endif
#endif

namespace tenon::core {

// The best set of instructions that loops are compiled for and this machine runs.
inline uint32_t detect_isa() noexcept {
#if defined(__x86_64__) && !defined(TENON_SCALAR)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2"))
    return TENON_ISA_BASELINE;
  const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return v4 ? TENON_ISA_V4 : TENON_ISA_V3;
#else
  return TENON_ISA_BASELINE;
#endif
}

// Adds to a number that only this thread changes and others read, those after a membarrier of the kernel:
// what was done before it is seen before it.
template <int kChange>
[[gnu::always_inline]] inline void add_in_order(int64_t& number) noexcept {
#if defined(__SANITIZE_THREAD__) || defined(TENON_THREAD_SANITIZER)
  __atomic_fetch_add(&number, int64_t{kChange}, __ATOMIC_SEQ_CST);
#elif defined(__x86_64__)
  // One instruction, which compilers do not make of an atomic load and store. Stores of x86 are seen in
  // their order.
  asm volatile("addq %1, %0" : "+m"(number) : "i"(kChange) : "memory", "cc");
#else
  const int64_t sum = __atomic_load_n(&number, __ATOMIC_RELAXED) + kChange;
  __atomic_store_n(&number, sum, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);  // the rest is up to the membarrier
#endif
}

// Stores past the caches: a large result would push out what is in them, and be read from memory before
// it is overwritten.
#if defined(__SSE2__) && !defined(TENON_SCALAR)
inline constexpr bool kHasStreams = true;
// `bytes` is a multiple of 16, and both addresses are.
[[gnu::always_inline]] inline void stream(void* to, const void* from, int64_t bytes) noexcept {
  auto* const parts = static_cast<__m128i*>(to);
  const auto* const given = static_cast<const __m128i*>(from);
  for (int64_t i = 0; i < bytes / 16; ++i) _mm_stream_si128(parts + i, _mm_load_si128(given + i));
}
// Before what was stored so is read by another thread.
inline void finish_streams() noexcept { _mm_sfence(); }
#else
inline constexpr bool kHasStreams = false;
inline void stream(void* to, const void* from, int64_t bytes) noexcept {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}
inline void finish_streams() noexcept {}
#endif

}  // namespace tenon::core
