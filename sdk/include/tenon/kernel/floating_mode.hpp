// The calling thread's modes of floating-point arithmetic, as its processor keeps them: rounding,
// whether subnormal numbers count as 0, which exceptions trap.
#pragma once

#include <cstdint>

#include "tenon/host.hpp"

TENON_NAMESPACE_BEGIN
namespace kernel {

#if defined(__x86_64__)
// MXCSR without the flags of exceptions, which come and go with arithmetic; above it the control
// word of the x87, by which long double computes.
inline uint64_t floating_mode() {
  uint16_t control = 0;
  __asm__ volatile("fnstcw %0" : "=m"(control));
  return (__builtin_ia32_stmxcsr() & ~0x3fU) | uint64_t{control} << 32;
}
inline void set_floating_mode(uint64_t mode) {
  const auto control = static_cast<uint16_t>(mode >> 32);
  __builtin_ia32_ldmxcsr(static_cast<unsigned>(mode));
  __asm__ volatile("fldcw %0" : : "m"(control));
}
// Subnormal operands count as 0, and so do subnormal results.
constexpr uint64_t flush_to_zero = 0x8040;
#elif defined(__aarch64__)
// FPCR; the flags of exceptions are in another register.
inline uint64_t floating_mode() {
  uint64_t mode = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
inline void set_floating_mode(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
constexpr uint64_t flush_to_zero = uint64_t{1} << 24;
#else
// Modes that <cfenv> does not know are not seen.
inline uint64_t floating_mode() { return 0; }
inline void set_floating_mode(uint64_t) {}  // not on this processor
constexpr uint64_t flush_to_zero = 0;       // not on this processor
#endif

}  // namespace kernel
TENON_NAMESPACE_END
