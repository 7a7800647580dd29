// The process's random generator: it only counts; a draw is a pure function of seed and offset.
#pragma once

#include <cstdint>

namespace tenon::core {

struct DrawRange {
  uint64_t seed;
  uint64_t offset;  // offset of the first draw
};

// Reserves `count` 64-bit draws for the caller, so that no two callers use the same ones; below 1
// it only returns the position. [any-thread]
DrawRange reserve_draws(int64_t count) noexcept;
// Starts the sequence of `seed` (0 when the process begins) from its first draw. [any-thread]
void seed_generator(uint64_t seed) noexcept;
// Continues at a position that reserve_draws returned. [any-thread]
void set_generator_state(DrawRange state) noexcept;
// Takes or returns the generator's lock around a fork. Parent and child continue the same sequence.
void hold_generator(bool hold) noexcept;

}  // namespace tenon::core
