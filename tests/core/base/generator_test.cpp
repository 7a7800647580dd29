// The generator: reservations never overlap, a seed starts again.
#include "core/base/generator.hpp"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace tenon::core;

TEST_SUITE("generator") {
  TEST_CASE("a seed begins its sequence from the first draw") {
    seed_generator(7);
    CHECK(reserve_draws(10).offset == 0);
    const DrawRange next = reserve_draws(5);
    CHECK(next.seed == 7);
    CHECK(next.offset == 10);
    CHECK(reserve_draws(0).offset == 15);
    CHECK(reserve_draws(-3).offset == 15);
    seed_generator(7);
    CHECK(reserve_draws(1).offset == 0);
    seed_generator(0);
  }

  TEST_CASE("threads reserve ranges that do not overlap") {
    seed_generator(1);
    std::mutex mutex;
    std::vector<uint64_t> offsets;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 500; ++k) {
          const uint64_t offset = reserve_draws(3).offset;
          const std::lock_guard lock(mutex);
          offsets.push_back(offset);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::sort(offsets.begin(), offsets.end());
    for (size_t i = 0; i < offsets.size(); ++i) CHECK(offsets[i] == 3 * i);
    seed_generator(0);
  }
}
