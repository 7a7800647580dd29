// gzip files in memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "bytes.hpp"

namespace data {

inline bool is_gzip(std::string_view bytes) { return bytes.substr(0, 2) == "\x1f\x8b"; }

// The contents are in memory, and deflate makes up to 1032 bytes of one: a small file could fill any
// memory.
inline constexpr int64_t kMostUnpacked = int64_t{4} << 30;

// All members of a gzip file, one after the other; checksums are compared. Throws
// Fault, also for contents of more than `most` bytes.
Bytes gunzip(std::string_view bytes, int64_t most = kMostUnpacked);

}  // namespace data
