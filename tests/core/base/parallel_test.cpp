// Parallel loops: coverage, nesting, failures, concurrent callers.
#include "core/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include "core/base/allocator.hpp"
#include "core/base/generator.hpp"

using namespace tenon::core;

namespace {

// Sets the thread count for a scope.
class Threads {
 public:
  explicit Threads(int32_t count) : before_(thread_count()) { set_thread_count(count); }
  ~Threads() { set_thread_count(before_); }

 private:
  int32_t before_;
};

}  // namespace

TEST_SUITE("parallel") {
  TEST_CASE("every index is visited once, for ranges of every size") {
    for (const int32_t count : {1, 2, 4}) {
      const Threads threads(count);
      for (const int64_t size : {0, 1, 2, 3, 63, 64, 1000, 100001}) {
        std::vector<int> visits(static_cast<size_t>(size) + 10);
        parallel_for(5, size + 5, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
        });
        CHECK(std::count(visits.begin(), visits.end(), 1) == size);
        CHECK(std::all_of(visits.begin(), visits.begin() + 5, [](int n) { return n == 0; }));
      }
    }
  }

  TEST_CASE("a range within the grain runs in the caller, in one piece") {
    const Threads threads(4);
    int calls = 0;
    std::thread::id runner;
    parallel_for(0, 100, 100, [&](int64_t begin, int64_t end) {
      ++calls;
      runner = std::this_thread::get_id();
      CHECK(begin == 0);
      CHECK(end == 100);
    });
    CHECK(calls == 1);
    CHECK(runner == std::this_thread::get_id());
  }

  TEST_CASE("chunks are at least as large as the grain, except the last") {
    const Threads threads(4);
    std::atomic<int> calls{0};
    parallel_for(0, 100, 20, [&](int64_t begin, int64_t end) {
      ++calls;
      const bool whole = end - begin >= 20 || end == 100;
      if (!whole) throw std::logic_error("chunk too small");
    });
    CHECK(calls == 5);
  }

  TEST_CASE("chunks are the same whichever threads run them") {
    const Threads threads(3);
    std::vector<std::vector<int64_t>> rounds;
    for (int round = 0; round < 20; ++round) {
      std::vector<int64_t> ends(1000);
      parallel_for(0, 1000, 7,
                   [&](int64_t begin, int64_t end) { ends[static_cast<size_t>(begin)] = end; });
      rounds.push_back(std::move(ends));
    }
    for (const auto& ends : rounds) CHECK(ends == rounds[0]);
  }

  TEST_CASE("a thread that is not run leaves its chunks to the others") {
    const Threads threads(2);
    // The caller's first chunk ends only when another thread has taken one and waits: the caller
    // then runs all that are left.
    std::atomic<int> others{0}, own{0};
    std::atomic<bool> finished{false};
    const std::thread::id caller = std::this_thread::get_id();
    parallel_for(0, 8, 1, [&](int64_t, int64_t) {
      if (std::this_thread::get_id() == caller) {
        while (others == 0) std::this_thread::yield();
        if (++own == 7) finished = true;
      } else {
        ++others;
        while (!finished) std::this_thread::yield();
      }
    });
    CHECK(others == 1);
    CHECK(own == 7);
  }

// The thread sanitizer allows no threads after a fork; the address sanitizer's own allocator may be
// locked by a thread that the child does not have.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  TEST_CASE("the child of a fork has its own pool, allocator, log and generator") {
    const Threads threads(4);
    const auto sum_in_parallel = [] {
      std::atomic<int64_t> sum{0};
      parallel_for(0, 1000, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) sum += i;
      });
      return sum.load();
    };
    CHECK(sum_in_parallel() == 499500);
    // Others are at work with every lock while forks happen.
    std::atomic<bool> stop{false};
    std::vector<std::thread> busy;
    for (int i = 0; i < 3; ++i) {
      busy.emplace_back([&] {
        while (!stop) {
          for (const int64_t bytes : {64, 5000, 40000, 1 << 21}) release(allocate(bytes), bytes);
          reserve_draws(1);
          release_cached(-1);
          sum_in_parallel();
        }
      });
    }
    for (int round = 0; round < 20; ++round) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(20);  // ends a child that hangs
        bool right = sum_in_parallel() == 499500;
        for (const int64_t bytes : {64, 5000, 40000, 1 << 21}) release(allocate(bytes), bytes);
        reserve_draws(1);
        std::thread([&] { right = right && sum_in_parallel() == 499500; }).join();
        _exit(right ? 0 : 1);
      }
      int status = -1;
      REQUIRE(waitpid(child, &status, 0) == child);
      CHECK(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == 0);
    }
    stop = true;
    for (std::thread& thread : busy) thread.join();
    CHECK(sum_in_parallel() == 499500);
  }
#endif

  TEST_CASE("a range of a few grains is not worth waking the pool") {
    const Threads threads(4);
    int calls = 0;
    parallel_for(0, 100, 40, [&](int64_t, int64_t) { ++calls; });
    CHECK(calls == 1);
  }

  TEST_CASE("threads that wait for a loop use no processor time") {
    const Threads threads(4);
    parallel_for(0, 1000, 1, [](int64_t, int64_t) {});
    const std::clock_t before = std::clock();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    CHECK(std::clock() - before < CLOCKS_PER_SEC / 10);
  }

  TEST_CASE("loops inside of loops run serially") {
    const Threads threads(4);
    std::atomic<int64_t> sum{0};
    std::atomic<int> outside{0};
    CHECK_FALSE(in_parallel_loop());
    parallel_for(0, 8, 1, [&](int64_t begin, int64_t end) {
      if (!in_parallel_loop()) ++outside;
      const std::thread::id self = std::this_thread::get_id();
      parallel_for(begin * 100, end * 100, 1, [&](int64_t from, int64_t to) {
        if (std::this_thread::get_id() != self) ++outside;
        for (int64_t i = from; i < to; ++i) sum += i;
      });
    });
    CHECK(outside == 0);
    CHECK(sum == 800 * 799 / 2);
    CHECK_FALSE(in_parallel_loop());
  }

  TEST_CASE("the first failing chunk's exception reaches the caller, and the pool lives on") {
    const Threads threads(4);
    for (int round = 0; round < 3; ++round) {
      std::string message;
      try {
        parallel_for(0, 8, 1, [&](int64_t begin, int64_t) {
          if (begin > 0) throw std::runtime_error("chunk at " + std::to_string(begin));
        });
      } catch (const std::runtime_error& error) {
        message = error.what();
      }
      CHECK(message == "chunk at 1");
    }
    int64_t visited = 0;
    parallel_for(0, 10, 100, [&](int64_t begin, int64_t end) { visited += end - begin; });
    CHECK(visited == 10);
  }

  TEST_CASE("plain memory written by the chunks is seen by the caller") {
    const Threads threads(4);
    std::vector<int64_t> values(10000);
    for (int64_t round = 1; round <= 50; ++round) {
      parallel_for(0, 10000, 10, [&, round](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) values[static_cast<size_t>(i)] += round;
      });
    }
    CHECK(std::all_of(values.begin(), values.end(), [](int64_t value) { return value == 1275; }));
  }

  TEST_CASE("several threads may start loops at once") {
    const Threads threads(2);
    std::vector<int64_t> sums(4);
    std::vector<std::thread> callers;
    for (size_t caller = 0; caller < sums.size(); ++caller) {
      callers.emplace_back([&sums, caller] {
        for (int round = 0; round < 20; ++round) {
          std::vector<int64_t> values(5000);
          parallel_for(0, 5000, 10, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) values[static_cast<size_t>(i)] = i;
          });
          for (const int64_t value : values) sums[caller] += value;
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    for (const int64_t sum : sums) CHECK(sum == int64_t{20} * 5000 * 4999 / 2);
  }

  TEST_CASE("the thread count is set in one place, and counts below 1 restore the default") {
    const int32_t standard = thread_count();
    CHECK(standard >= 1);
    set_thread_count(3);
    CHECK(thread_count() == 3);
    set_thread_count(0);
    CHECK(thread_count() >= 1);
    set_thread_count(1 << 30);
    CHECK(thread_count() == 1024);
    set_thread_count(standard);
  }
}
