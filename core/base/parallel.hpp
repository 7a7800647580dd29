// Loops over ranges on the process's one thread pool.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace tenon::core {

// Threads that a loop may use: TENON_NUM_THREADS, else OMP_NUM_THREADS, else the processors that
// this process may run on, until it is set. Counts below 1 restore the default.
int32_t thread_count() noexcept;
void set_thread_count(int32_t count) noexcept;

// Whether this thread works on a chunk of a parallel loop, so that loops that it starts run
// serially.
bool in_parallel_loop() noexcept;

// In the child of a fork, which has none of the pool's threads: the next loop starts its own.
void forget_threads() noexcept;

using RangeBody = void (*)(void* state, int64_t begin, int64_t end);

// As parallel_for, for a body with a state behind a pointer.
void run_parallel(int64_t begin, int64_t end, int64_t grain, RangeBody body, void* state);

// Calls `body(begin, end)` for chunks of at least `grain` that cover the range once, and returns
// when all are done. What the body throws is thrown here: that of the first failing chunk. Runs in
// the caller alone when the range is within the grain, one thread is set, the caller is inside a
// parallel loop, or another thread's loop has the pool. Between pieces of the chunks it stops where
// it is interrupted (interrupt.hpp). [any-thread]
template <class Body>
void parallel_for(int64_t begin, int64_t end, int64_t grain, Body&& body) {
  if (begin >= end) return;
  if (end - begin <= grain) {
    body(begin, end);
    return;
  }
  using Object = std::remove_reference_t<Body>;
  run_parallel(
      begin, end, grain,
      [](void* state, int64_t from, int64_t to) { (*static_cast<Object*>(state))(from, to); },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

// The loops of this thread run in it alone, for a scope.
class SerialLoops {
 public:
  SerialLoops() noexcept;
  ~SerialLoops();
  SerialLoops(const SerialLoops&) = delete;
  SerialLoops& operator=(const SerialLoops&) = delete;

 private:
  bool previous_;
};

}  // namespace tenon::core
