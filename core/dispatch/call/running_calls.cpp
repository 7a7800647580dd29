// The threads that call, and looking whether they have left what they were in.
#include "core/dispatch/call/running_calls.hpp"

#include <algorithm>
#include <mutex>
#include <pthread.h>
#include <unistd.h>
#include <vector>

#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "core/base/fork.hpp"
#include "core/base/plugin_code.hpp"

namespace tenon::core {

namespace {

struct CallingThread {
  OwnOfThread* state = nullptr;
  uint64_t quiet = 0;  // the last look that found it outside of every call
  uint32_t node_counter = kNodeCounters - 1;
};

class CallingThreads {
 public:
  CallingThreads() {
    pthread_key_create(&at_exit_, [](void* state) { process().leave(state); });
  }

  static CallingThreads& process() {
    static auto& threads = *new CallingThreads;
    return threads;
  }

  void join(OwnOfThread& state) {
    const std::lock_guard lock(mutex_);
    if (free_counters_.empty()) {
      node_counter = next_counter_ < kNodeCounters - 1 ? next_counter_++ : kNodeCounters - 1;
    } else {
      node_counter = free_counters_.back();
      free_counters_.pop_back();
    }
    // Calls that start from here on cannot see withdrawn code.
    threads_.push_back({&state, looks_ + 1, node_counter});
    state.joined = true;
    pthread_setspecific(at_exit_, &state);
  }

  // Before its memory goes. Calls in what still ends with the thread join again.
  void leave(void* ended) {
    auto* state = static_cast<OwnOfThread*>(ended);
    const std::lock_guard lock(mutex_);
    const auto thread = std::ranges::find(threads_, state, &CallingThread::state);
    if (thread == threads_.end()) return;
    if (thread->node_counter != kNodeCounters - 1) free_counters_.push_back(thread->node_counter);
    node_counter = kNodeCounters - 1;
    threads_.erase(thread);
    state->joined = false;
    state->stack_limit = UINTPTR_MAX;
  }

  uint64_t mark() {
    const std::lock_guard lock(mutex_);
    return ++looks_;  // above that of every thread that has joined
  }

  bool have_ended(uint64_t mark) {
    const std::lock_guard lock(mutex_);
    const auto passed = [&](const CallingThread& thread) { return thread.quiet > mark; };
    if (std::ranges::all_of(threads_, passed)) return true;
    if (!pass_barrier()) return false;
    ++looks_;
    for (CallingThread& thread : threads_) {
      if (__atomic_load_n(&thread.state->running, __ATOMIC_ACQUIRE) == 0) thread.quiet = looks_;
    }
    return std::ranges::all_of(threads_, passed);
  }

 private:
  bool pass_barrier() {
    if (!registered_)
      registered_ = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    return registered_ && ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
  }

  void forget_others() {
    std::erase_if(threads_,
                  [](const CallingThread& thread) { return thread.state != &thread_state.own; });
    registered_ = false;
  }

  std::mutex mutex_;
  const HeldAcrossFork held_{mutex_, [this] { forget_others(); }};
  std::vector<CallingThread> threads_;
  std::vector<uint32_t> free_counters_;
  uint32_t next_counter_ = 0;
  uint64_t looks_ = 0;
  bool registered_ = false;
  pthread_key_t at_exit_{};
};

}  // namespace

void join_calling_threads() noexcept { CallingThreads::process().join(thread_state.own); }

uint64_t mark_running_calls() { return CallingThreads::process().mark(); }
bool have_ended(uint64_t mark) { return CallingThreads::process().have_ended(mark); }

}  // namespace tenon::core
