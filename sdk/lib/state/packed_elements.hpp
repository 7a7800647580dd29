// Elements of fewer than 8 bits: a file packs them, from the lowest bit of each byte on, memory has a byte
// for each.
#pragma once

#include <algorithm>
#include <cstdint>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

// Elements that are packed at once: they take whole bytes, whatever their bits.
constexpr int64_t kPackedPiece = int64_t{64} << 10;

constexpr int64_t packed_bytes(int64_t count, int64_t bits) { return count * bits / 8; }

// `count` is a multiple of 8, or all that is left and fills whole bytes.
inline void unpack_elements(const uint8_t* from, uint8_t* to, int64_t count, int64_t bits) {
  const uint32_t mask = (1u << bits) - 1;
  uint32_t held = 0;
  int64_t held_bits = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (held_bits < bits) {
      held |= uint32_t{*from++} << held_bits;
      held_bits += 8;
    }
    to[i] = static_cast<uint8_t>(held & mask);
    held >>= bits;
    held_bits -= bits;
  }
}
inline void pack_elements(const uint8_t* from, uint8_t* to, int64_t count, int64_t bits) {
  const uint32_t mask = (1u << bits) - 1;
  uint32_t held = 0;
  int64_t held_bits = 0;
  for (int64_t i = 0; i < count; ++i) {
    held |= (from[i] & mask) << held_bits;
    held_bits += bits;
    if (held_bits < 8) continue;
    *to++ = static_cast<uint8_t>(held);
    held >>= 8;
    held_bits -= 8;
  }
}

}  // namespace state

TENON_NAMESPACE_END
