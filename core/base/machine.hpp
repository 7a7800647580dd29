// What core uses of a processor's own instructions: the one file of core that names them. A build with
// TENON_ISA=scalar uses none.
#pragma once

#include <cstdint>
#include <cstring>

#include "tenon/abi/elementwise.h"

#if defined(__SSE2__) && !defined(TENON_SCALAR)
#include <emmintrin.h>
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
