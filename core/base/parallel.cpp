// The thread pool: OpenMP's, which OpenBLAS shares.
#include "core/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <omp.h>

#include "core/base/environment.hpp"

#if defined(__SANITIZE_THREAD__)
#define TENON_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TENON_TSAN 1
#endif
#endif
#if defined(TENON_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace tenon::core {

namespace {

// The sanitizer does not see the synchronization inside the OpenMP library.
#if defined(TENON_TSAN)
void arrive(void* point) { __tsan_release(point); }
void depart(void* point) { __tsan_acquire(point); }
#else
void arrive(void*) {}
void depart(void*) {}
#endif

constexpr int32_t kMostThreads = 1024;

int32_t default_count() noexcept {
  if (const char* text = environment("TENON_NUM_THREADS"); text != nullptr && *text != '\0') {
    char* end = nullptr;
    errno = 0;
    const long count = std::strtol(text, &end, 10);
    if (errno == 0 && *end == '\0' && count >= 1) {
      return static_cast<int32_t>(std::min<long>(count, kMostThreads));
    }
  }
  return std::clamp(omp_get_max_threads(), 1, kMostThreads);
}

constinit std::atomic<int32_t> set_count{0};  // 0: not set yet

// Held by the thread whose loop runs: two loops at once would only share the same processors.
constinit std::atomic<bool> pool_taken{false};
constinit thread_local bool inside_loop = false;

struct Loop {
  int64_t begin;
  int64_t end;
  int64_t chunk;
  int64_t chunk_count;
  RangeBody body;
  void* state;

  char fork_point = 0;
  char join_point = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  int64_t failed_chunk = 0;
};

// Chunks number, number + members, ... whatever the size of the team that OpenMP gives.
[[gnu::noinline]] void work(Loop& loop, int64_t number, int64_t members) noexcept {
  depart(&loop.fork_point);
  inside_loop = true;
  for (int64_t chunk = number; chunk < loop.chunk_count; chunk += members) {
    const int64_t from = loop.begin + chunk * loop.chunk;
    try {
      loop.body(loop.state, from, std::min(from + loop.chunk, loop.end));
    } catch (...) {
      const std::lock_guard lock(loop.mutex);
      if (loop.failure == nullptr || chunk < loop.failed_chunk) {
        loop.failure = std::current_exception();
        loop.failed_chunk = chunk;
      }
    }
  }
  inside_loop = false;
  arrive(&loop.join_point);
}

// Not instrumented: it reads what OpenMP hands over before work() has told the sanitizer of the
// fork.
__attribute__((noinline, no_sanitize("thread"))) void run_team(Loop* loop,
                                                               int32_t threads) noexcept {
#pragma omp parallel num_threads(threads)
  work(*loop, omp_get_thread_num(), omp_get_num_threads());
}

}  // namespace

int32_t thread_count() noexcept {
  int32_t count = set_count.load(std::memory_order_relaxed);
  if (count == 0) {
    const int32_t fresh = default_count();
    if (set_count.compare_exchange_strong(count, fresh, std::memory_order_relaxed)) count = fresh;
  }
  return count;
}

void set_thread_count(int32_t count) noexcept {
  set_count.store(count < 1 ? default_count() : std::min(count, kMostThreads),
                  std::memory_order_relaxed);
}

bool in_parallel_loop() noexcept { return inside_loop || omp_in_parallel() != 0; }

void run_parallel(int64_t begin, int64_t end, int64_t grain, RangeBody body, void* state) {
  if (begin >= end) return;
  const int64_t range = end - begin;
  grain = std::max<int64_t>(grain, 1);
  const int32_t threads = thread_count();
  // Waking the team costs more than the few microseconds of one grain, and far more where other
  // processes want the processors too: only several grains for each thread are worth it.
  constexpr int64_t kWorthwhile = 2;
  const int64_t wanted = std::min<int64_t>(threads, range / grain / kWorthwhile);
  if (wanted <= 1 || in_parallel_loop() || pool_taken.exchange(true, std::memory_order_acquire)) {
    body(state, begin, end);
    return;
  }
  // Whole lines of 64 elements, so that neighbouring chunks do not write to the same cache line.
  int64_t chunk = (range - 1) / wanted + 1;
  if (chunk >= 1024) chunk = (chunk + 63) / 64 * 64;
  Loop loop{.begin = begin,
            .end = end,
            .chunk = chunk,
            .chunk_count = (range - 1) / chunk + 1,
            .body = body,
            .state = state,
            .mutex = {},
            .failure = nullptr};
  arrive(&loop.fork_point);
  // Always the whole team: OpenMP ends the threads that a smaller one leaves out.
  run_team(&loop, threads);
  depart(&loop.join_point);
  pool_taken.store(false, std::memory_order_release);
  if (loop.failure != nullptr) std::rethrow_exception(loop.failure);
}

}  // namespace tenon::core
