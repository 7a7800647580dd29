// The process's one thread pool and one generator, for kernels and applications.
#pragma once

#include <cstdint>

#include "tenon/interrupt.hpp"

TENON_NAMESPACE_BEGIN

// Runs body(begin, end) over [begin, end) in chunks of at least `grain`; nested calls run serially.
// What a chunk throws is thrown here. InterruptedError, between chunks, where the process is
// interrupted (interrupt.hpp): a grain of more than 1 is to take less than some 5 milliseconds.
template <class Body>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const Body& body) {
  if (end - begin <= grain) {
    if (end > begin) body(begin, end);
    return;
  }
  const auto chunk = [](void* state, int64_t from, int64_t to,
                        tenon_error** error) -> tenon_status {
    return detail::guarded(error, [&] { (*static_cast<const Body*>(state))(from, to); });
  };
  detail::check(service::threads().parallel_for, begin, end, grain,
                static_cast<tenon_status (*)(void*, int64_t, int64_t, tenon_error**)>(chunk),
                const_cast<void*>(static_cast<const void*>(&body)));
}

inline int32_t thread_count() { return service::threads().count(); }  // threads of kernels
inline void set_thread_count(int32_t count) { service::threads().count_set(count); }  // from 1

// Draw i is a pure function of `seed` and `offset + i`, so kernels may draw in parallel and in any
// order.
struct Draws {
  uint64_t seed = 0, offset = 0;  // state of the generator
  // 64 random bits: the SplitMix64 finalizer over a counter (Steele, Lea and Flood, 2014).
  uint64_t bits(int64_t i) const {
    uint64_t z = seed + (offset + static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, 1), 53 bits.
  double uniform(int64_t i) const { return static_cast<double>(bits(i) >> 11) * 0x1p-53; }
};
inline Draws reserve_draws(int64_t count) {  // the next `count` numbers
  Draws draws;
  service::threads().generator_reserve(count, &draws.seed, &draws.offset);
  return draws;
}
// For all threads of the process.
inline void seed_generator(uint64_t seed) { service::threads().generator_seed(seed); }
// State of the generator, and continuing from it, as a resumed training does.
inline Draws generator_state() { return reserve_draws(0); }
inline void set_generator_state(const Draws& state) {  // as generator_state() had it
  service::threads().generator_state_set(state.seed, state.offset);
}

TENON_NAMESPACE_END
