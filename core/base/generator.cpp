// The process's random generator: it only counts; draws are a pure function of seed and offset.
#include "core/base/generator.hpp"

#include <mutex>

namespace tenon::core {

namespace {

// A lock, because seed and offset change together.
constinit std::mutex generator_mutex;
constinit DrawRange next_draws{0, 0};

}  // namespace

DrawRange reserve_draws(int64_t count) noexcept {
  const std::lock_guard lock(generator_mutex);
  const DrawRange reserved = next_draws;
  if (count > 0) next_draws.offset += static_cast<uint64_t>(count);
  return reserved;
}

void seed_generator(uint64_t seed) noexcept { set_generator_state({seed, 0}); }

void set_generator_state(DrawRange state) noexcept {
  const std::lock_guard lock(generator_mutex);
  next_draws = state;
}

void hold_generator(bool hold) noexcept {
  hold ? generator_mutex.lock() : generator_mutex.unlock();
}

}  // namespace tenon::core
