// How much is left of the calling thread's stack.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::core {

// The stack that calls of ops leave for kernels and for reporting an error.
inline constexpr size_t kCallReserve = size_t{192} << 10;

// The address below which fewer than `reserve` bytes are left.
uintptr_t stack_limit(size_t reserve) noexcept;
// Whether fewer than `reserve` bytes are left; on small stacks less than a quarter, or than half
// for those that reserve more than calls do. False on a stack that the thread was not started with,
// such as a fiber's: its limits are not known.
bool stack_is_low(size_t reserve) noexcept;

}  // namespace tenon::core
