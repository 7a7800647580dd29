// How much of the allocator's memory is in use.
#pragma once

#include <cstdint>

namespace tenon::core {

// Bytes of blocks up to 4 KiB, which stay with the process for good; free ones that other threads keep
// count as in use. 0 under the address sanitizer, where each block is the system's. [any-thread]
int64_t small_bytes_in_use() noexcept;

}  // namespace tenon::core
