#include "core/base/fork.hpp"

#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>
#include <unistd.h>

#include <doctest/doctest.h>
#include <sys/wait.h>

using namespace tenon::core;

// The thread sanitizer follows at most 64 locks that are held together, and slows forks down.
#ifdef __SANITIZE_THREAD__
constexpr int kLocks = 20, kForks = 10;
#else
constexpr int kLocks = 300, kForks = 100;
#endif

TEST_SUITE("fork") {
  TEST_CASE("a lock that is listed while another is held does not stop a fork") {
    std::mutex outer;
    const HeldAcrossFork held(outer);
    std::atomic<bool> stop{false};
    std::thread lister([&] {
      for (int i = 0; i < kLocks && !stop; ++i) {
        const std::lock_guard lock(outer);
        new HeldAcrossFork(*new std::mutex);  // lives as long as the process, as those of tables
      }
    });
    for (int i = 0; i < kForks; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(20);  // ends a child that hangs
        const std::lock_guard lock(outer);
        raise(SIGKILL);  // not exit: the thread sanitizer would miss the threads of the parent
      }
      int status = -1;
      REQUIRE(waitpid(child, &status, 0) == child);
      CHECK(WTERMSIG(status) == SIGKILL);
    }
    stop = true;
    lister.join();
  }
}
