// Interrupts: what of a loop still runs, and what runs to its end.
#include "core/base/interrupt.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"

using namespace tenon::core;

namespace {

struct Threads {
  explicit Threads(int32_t count) : before(thread_count()) { set_thread_count(count); }
  ~Threads() { set_thread_count(before); }
  int32_t before;
};
struct Request {
  ~Request() { interrupt_word.store(0); }
};

tenon_status kind_of(auto&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.kind;
  }
  return TENON_OK;
}

}  // namespace

TEST_SUITE("interrupt") {
  TEST_CASE("a loop stops at the piece after the request, and visits no index twice") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
      const Threads threads(static_cast<int32_t>(1 + random() % 4));
      const auto size = static_cast<int64_t>(1 + random() % 200000),
                 grain = static_cast<int64_t>(1 + random() % 300),
                 at = static_cast<int64_t>(random()) & 0x3ffff;
      CAPTURE(size);
      CAPTURE(grain);
      CAPTURE(at);
      const Request request;
      std::vector<int> visits(static_cast<size_t>(size));
      std::atomic<int64_t> longest{0};
      const tenon_status status = kind_of([&] {
        parallel_for(0, size, grain, [&](int64_t begin, int64_t end) {
          if (interrupt_word.load() != 0) longest = std::max(longest.load(), end - begin);
          if (begin <= at && at < end) interrupt_word.store(1);
          for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
        });
      });
      CHECK(std::all_of(visits.begin(), visits.end(), [](int n) { return n <= 1; }));
      const auto done = std::count(visits.begin(), visits.end(), 1);
      // Finished only where nothing was left to look.
      if (status == TENON_OK) {
        CHECK(done == size);
      } else {
        CHECK(status == TENON_ERROR_INTERRUPTED);
        CHECK(done < size);
      }
      CHECK(longest.load() <= std::max<int64_t>(grain, 16 * grain + 63));
    }
  }

  TEST_CASE("a loop in pieces computes what one call does, on any number of threads") {
    std::vector<int64_t> whole(100000), pieces(whole.size());
    const auto fill = [](std::vector<int64_t>& to) {
      return [&to](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[static_cast<size_t>(i)] = i * i;
      };
    };
    fill(whole)(0, static_cast<int64_t>(whole.size()));
    for (const int32_t count : {1, 2, 3}) {
      const Threads threads(count);
      for (const int64_t grain : {1, 2, 63, 64, 1000, 70000}) {
        std::fill(pieces.begin(), pieces.end(), -1);
        parallel_for(0, static_cast<int64_t>(whole.size()), grain, fill(pieces));
        CHECK(pieces == whole);
      }
    }
  }

  TEST_CASE("within a guard a loop runs to its end, loops inside of it as well") {
    for (const int32_t count : {1, 3}) {
      const Threads threads(count);
      const Request request;
      interrupt_word.store(1);
      std::atomic<int64_t> visits{0};
      {
        const UninterruptedGuard whole;
        parallel_for(0, 1000, 1, [&](int64_t begin, int64_t end) {
          parallel_for(begin, end, 1, [&](int64_t from, int64_t to) { visits += to - from; });
        });
        { const UninterruptedGuard inner; }
        stop_if_interrupted();
      }
      CHECK(visits == 1000);
      CHECK(kind_of([] { stop_if_interrupted(); }) == TENON_ERROR_INTERRUPTED);
      CHECK(kind_of([&] { parallel_for(0, 10, 1, [&](int64_t, int64_t) { ++visits; }); }) ==
            TENON_ERROR_INTERRUPTED);
      CHECK(visits == 1000);
      // The pool's threads are as they were.
      interrupt_word.store(0);
      CHECK(kind_of([&] {
              parallel_for(0, 10, 1, [&](int64_t b, int64_t e) { visits += e - b; });
            }) == TENON_OK);
      CHECK(visits == 1010);
    }
  }

  // In processor time, which other processes do not take part in.
  TEST_CASE("an hour of work stops within 100 ms of the request of another thread") {
    using Clock = std::chrono::steady_clock;
    for (const int32_t count : {1, 2}) {
      const Threads threads(count);
      const Request request;
      std::atomic<std::clock_t> requested{0};
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        requested = std::clock();
        interrupt_word.store(1);
      });
      const tenon_status status = kind_of([] {
        parallel_for(0, 360'000'000, 10, [](int64_t begin, int64_t end) {
          const auto until = Clock::now() + std::chrono::microseconds(10 * (end - begin));
          while (Clock::now() < until) continue;
        });
      });
      const std::clock_t stopped = std::clock();
      other.join();
      CHECK(status == TENON_ERROR_INTERRUPTED);
      CHECK(static_cast<double>(stopped - requested.load()) / CLOCKS_PER_SEC < 0.2 * count);
    }
  }
}
