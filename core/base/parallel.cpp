// The thread pool: threads that sleep until a loop has chunks for them.
#include "core/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <string_view>
#include <utility>

#include "core/base/environment.hpp"
#include "core/base/interrupt.hpp"

namespace tenon::core {

namespace {

constexpr int32_t kMostThreads = 1024;

// The count that an environment variable begins with; 0 when it has none. In OMP_NUM_THREADS counts
// for nested loops may follow.
int32_t count_from(const char* variable, std::string_view ends) noexcept {
  const char* text = environment(variable);
  if (text == nullptr || *text == '\0') return 0;
  char* end = nullptr;
  errno = 0;
  const long count = std::strtol(text, &end, 10);
  if (errno != 0 || end == text || count < 1) return 0;
  if (*end != '\0' && ends.find(*end) == std::string_view::npos) return 0;
  return static_cast<int32_t>(std::min<long>(count, kMostThreads));
}

int32_t default_count() noexcept {
  if (const int32_t count = count_from("TENON_NUM_THREADS", "")) return count;
  if (const int32_t count = count_from("OMP_NUM_THREADS", ", ")) return count;
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof(processors), &processors) != 0) return 1;
  return std::clamp(CPU_COUNT(&processors), 1, kMostThreads);
}

constinit std::atomic<int32_t> set_count{0};  // 0: not set yet

// Held by the thread whose loop runs: two loops at once would only share the same processors.
constinit std::atomic<bool> pool_taken{false};
constinit thread_local bool inside_loop = false;

// Between pieces a loop looks whether it is interrupted: some 16 grains, which take milliseconds. An
// element that is worth a thread may take any time, and is a piece.
int64_t piece_of(int64_t grain) noexcept {
  constexpr int64_t kGrains = 16;
  if (grain == 1 || grain > INT64_MAX / kGrains / 2) return grain;
  const int64_t piece = kGrains * grain;
  return piece < 1024 ? piece : (piece + 63) / 64 * 64;  // as chunks
}

void run_pieces(RangeBody body, void* state, int64_t begin, int64_t end, int64_t piece) {
  if (runs_to_end) return body(state, begin, end);
  for (; end - begin > piece; begin += piece) {
    stop_if_interrupted();
    body(state, begin, begin + piece);
  }
  stop_if_interrupted();
  body(state, begin, end);
}

struct Loop {
  int64_t begin;
  int64_t end;
  int64_t chunk;
  int64_t chunk_count;
  int64_t piece;
  RangeBody body;
  void* state;
  bool runs_to_end;

  std::atomic<int64_t> next_chunk{0};
  std::mutex mutex;
  std::exception_ptr failure;
  int64_t failed_chunk = 0;
};

// Chunks that no other thread has taken, until there are none. So the caller never waits for a
// thread that the system has not run yet.
void work(Loop& loop) noexcept {
  inside_loop = true;
  const bool own = std::exchange(runs_to_end, loop.runs_to_end);
  for (;;) {
    const int64_t chunk = loop.next_chunk.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= loop.chunk_count) break;
    const int64_t from = loop.begin + chunk * loop.chunk;
    try {
      run_pieces(loop.body, loop.state, from, std::min(from + loop.chunk, loop.end), loop.piece);
    } catch (...) {
      const std::lock_guard lock(loop.mutex);
      if (loop.failure == nullptr || chunk < loop.failed_chunk) {
        loop.failure = std::current_exception();
        loop.failed_chunk = chunk;
      }
    }
  }
  runs_to_end = own;
  inside_loop = false;
}

class Pool {
 public:
  void run(Loop& loop, int32_t helpers) noexcept {
    {
      const std::lock_guard lock(mutex_);
      start(helpers);
      loop_ = &loop;
      places_ = helpers;
    }
    for (int32_t i = 0; i < helpers; ++i) wake_.notify_one();
    work(loop);
    std::unique_lock lock(mutex_);
    loop_ = nullptr;
    done_.wait(lock, [&] { return inside_ == 0; });
  }

 private:
  // Threads up to `count`; fewer where the system gives no more.
  void start(int32_t count) noexcept {
    if (started_ >= count) return;
    // The application's signal handlers run on the application's threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (pthread_t thread{}; started_ < count; ++started_) {
      if (pthread_create(&thread, &attributes, serve, this) != 0) break;
      pthread_setname_np(thread, "tenon");
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  static void* serve(void* pool) {
    static_cast<Pool*>(pool)->serve();
    return nullptr;
  }
  [[noreturn]] void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return loop_ != nullptr && places_ > 0; });
      --places_;
      ++inside_;
      Loop& loop = *loop_;
      lock.unlock();
      work(loop);
      lock.lock();
      if (--inside_ == 0 && loop_ == nullptr) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;  // a loop has places
  std::condition_variable done_;  // all have left a loop that is closed
  Loop* loop_ = nullptr;          // while it takes threads
  int32_t places_ = 0;            // how many more it takes
  int32_t inside_ = 0;            // threads other than the caller that work on it
  int32_t started_ = 0;
};

// Never destroyed: its threads sleep in it until the process ends.
alignas(Pool) std::byte pool_memory[sizeof(Pool)];
Pool& pool = *new (pool_memory) Pool;

}  // namespace

void forget_threads() noexcept {
  new (pool_memory) Pool;
  pool_taken.store(false, std::memory_order_relaxed);
}

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

bool in_parallel_loop() noexcept { return inside_loop; }

SerialLoops::SerialLoops() noexcept : previous_(std::exchange(inside_loop, true)) {}
SerialLoops::~SerialLoops() { inside_loop = previous_; }

void run_parallel(int64_t begin, int64_t end, int64_t grain, RangeBody body, void* state) {
  if (begin >= end) return;
  const int64_t range = end - begin;
  grain = std::max<int64_t>(grain, 1);
  // Waking a thread costs some ten microseconds, as much as one grain of work, and more where other
  // processes want the processors too: only several grains for each thread are worth it.
  constexpr int64_t kWorthwhile = 2;
  const int64_t threads = std::min<int64_t>(thread_count(), range / grain / kWorthwhile);
  if (threads <= 1 || in_parallel_loop() || pool_taken.exchange(true, std::memory_order_acquire)) {
    run_pieces(body, state, begin, end, piece_of(grain));
    return;
  }
  // Several chunks for each thread, so that one that starts late or is interrupted leaves its share
  // to the others. Where they are is settled by the thread count alone.
  constexpr int64_t kChunksEach = 4;
  int64_t chunk = std::max(grain, (range - 1) / (threads * kChunksEach) + 1);
  // Whole lines of 64 elements, so that neighbouring chunks do not write to the same cache line.
  if (chunk >= 1024) chunk = (chunk + 63) / 64 * 64;
  Loop loop{.begin = begin,
            .end = end,
            .chunk = chunk,
            .chunk_count = (range - 1) / chunk + 1,
            .piece = piece_of(grain),
            .body = body,
            .state = state,
            .runs_to_end = runs_to_end,
            .mutex = {},
            .failure = nullptr};
  pool.run(loop, static_cast<int32_t>(threads) - 1);
  pool_taken.store(false, std::memory_order_release);
  if (loop.failure != nullptr) std::rethrow_exception(loop.failure);
}

}  // namespace tenon::core
