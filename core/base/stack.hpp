// How much is left of the calling thread's stack.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::core {

// The address below which a thread's calls look at what is left. A thread that has not looked yet
// has the highest, so that its first call looks.
extern constinit thread_local uintptr_t stack_mark;

// What calls of ops leave for kernels and for reporting an error.
inline constexpr size_t kCallReserve = size_t{192} << 10;

// One comparison; true as well before the thread has looked, and on stacks that are not its own.
[[gnu::always_inline]] inline bool stack_may_be_low() noexcept {
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) < stack_mark;
}
// Whether fewer than `reserve` bytes are left; on small stacks less than a quarter, or than half
// for those that reserve more than calls do. False on a stack that the thread was not started with,
// such as a fiber's: its limits are not known.
bool stack_is_low(size_t reserve) noexcept;

}  // namespace tenon::core
