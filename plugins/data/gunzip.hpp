// gzip files in memory.
#pragma once

#include <string_view>

#include "bytes.hpp"

namespace data {

inline bool is_gzip(std::string_view bytes) { return bytes.substr(0, 2) == "\x1f\x8b"; }

// All members of a gzip file, one after the other; checksums are compared. Throws
// tenon::data::Fault. Deflate makes at most 1032 bytes of one, so the result is bounded by its
// source.
Bytes gunzip(std::string_view bytes);

}  // namespace data
