// Locks that are held while the process forks: a child has the forking thread alone, and must find
// no lock in the hands of a thread that it does not have, and nothing changed by half.
#pragma once

#include <functional>
#include <mutex>

namespace tenon::core {

// A member or static beside the lock that it names. The lock may be taken together with others in
// any order; it must not be held while code that may fork is called. Destroy it while no other thread
// forks. [any-thread]
class HeldAcrossFork {
 public:
  // `in_child` is run in the child while the lock is held: it repairs what other threads were at.
  explicit HeldAcrossFork(std::mutex& mutex, std::function<void()> in_child = {});
  explicit HeldAcrossFork(std::recursive_mutex& mutex);
  ~HeldAcrossFork();
  HeldAcrossFork(const HeldAcrossFork&) = delete;
  HeldAcrossFork& operator=(const HeldAcrossFork&) = delete;

  void hold();
  bool try_hold();
  void resume();
  void resume_in_child();

 private:
  std::mutex* mutex_ = nullptr;
  std::recursive_mutex* recursive_ = nullptr;
  std::function<void()> in_child_;
};

}  // namespace tenon::core
