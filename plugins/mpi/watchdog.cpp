// A thread that looks at the clock a few times in each timeout: arming it costs no system call.
#include "watchdog.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <unistd.h>

namespace mpi {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kNone = 0;

struct Watchdog {
  std::atomic<int64_t> deadline{kNone};  // time of the clock, in nanoseconds
  std::atomic<int64_t> interval{0};      // between looks, in nanoseconds
  Call call;                             // written before the deadline

  void watch() {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(interval));
      const int64_t end = deadline.load(std::memory_order_acquire);
      if (end == kNone || Clock::now().time_since_epoch().count() < end) continue;
      std::fprintf(stderr,
                   "DistributedError: %s: another rank stopped during the transfer, and this one "
                   "has waited for the timeout\n",
                   text(call).c_str());
      std::fflush(nullptr);
      _exit(75);
    }
  }
};

Watchdog& watchdog() {
  static auto* const instance = [] {
    auto* const made = new Watchdog;
    made->interval = 1000000;
    std::thread([made] { made->watch(); }).detach();
    return made;
  }();
  return *instance;
}

}  // namespace

Watched::Watched(const World& world, const Call& call) {
  Watchdog& dog = watchdog();
  constexpr double kLongest = 1e9;  // seconds, so that nanoseconds fit
  const auto timeout = static_cast<int64_t>(std::min(world.timeout, kLongest) * 1e9);
  dog.call = call;
  dog.interval.store(std::clamp<int64_t>(timeout / 8, 1000000, 1000000000),
                     std::memory_order_relaxed);
  dog.deadline.store(Clock::now().time_since_epoch().count() + timeout, std::memory_order_release);
}

Watched::~Watched() { watchdog().deadline.store(kNone, std::memory_order_release); }

}  // namespace mpi
