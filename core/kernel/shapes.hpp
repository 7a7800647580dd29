// Calls that compute shapes and dtypes alone.
#pragma once

#include <cstdint>

namespace tenon::core {

// From now on the thread's calls do, and add the multiply-adds that ops declare to *multiply_adds;
// null ends it. Returns what was set before. [this-thread]
int64_t* set_shapes_only(int64_t* multiply_adds) noexcept;

}  // namespace tenon::core
