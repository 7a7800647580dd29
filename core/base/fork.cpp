// Preparation for a fork: no lock may be held by a thread that the child does not have, and the
// child's pool starts its own threads.
#include "core/base/fork.hpp"

#include <algorithm>
#include <new>
#include <pthread.h>
#include <utility>
#include <vector>

#include "core/base/allocator.hpp"
#include "core/base/generator.hpp"
#include "core/base/log.hpp"
#include "core/base/parallel.hpp"

namespace tenon::core {

namespace {

struct HeldLocks {
  std::mutex mutex;
  std::vector<HeldAcrossFork*> locks;
};
HeldLocks& held_locks() {
  static auto* const all = new HeldLocks;  // locks with static storage die late
  return *all;
}

// All or none, since other threads take them in any order. The next attempt begins with the one
// that was taken, and waits for it: without that a busy thread could keep it for ever.
void hold_all(const std::vector<HeldAcrossFork*>& locks) {
  const size_t count = locks.size();
  for (size_t first = 0, held = 0; count > 0;) {
    locks[first]->hold();
    for (held = 1; held < count && locks[(first + held) % count]->try_hold();) ++held;
    if (held == count) return;
    const size_t taken = (first + held) % count;
    while (held > 0) locks[(first + --held) % count]->resume();
    first = taken;
  }
}

// Holds the list's lock as well, but waits for none under it: a thread adds its lock to the list
// while it holds others.
void hold_listed() {
  HeldLocks& all = held_locks();
  for (;;) {
    all.mutex.lock();
    const std::vector<HeldAcrossFork*> locks = all.locks;
    all.mutex.unlock();
    hold_all(locks);
    all.mutex.lock();
    if (all.locks == locks) return;
    all.mutex.unlock();
    for (HeldAcrossFork* lock : locks) lock->resume();
  }
}

// Behind the other locks come those under which no other is taken.
void prepare() {
  hold_listed();
  hold_log(true);
  hold_generator(true);
  hold_allocator(true);
}
void resume_base() {
  hold_allocator(false);
  hold_generator(false);
  hold_log(false);
}
void resume() {
  resume_base();
  for (HeldAcrossFork* lock : held_locks().locks) lock->resume();
  held_locks().mutex.unlock();
}
void resume_child() {
  resume_base();
  forget_threads();
  for (HeldAcrossFork* lock : held_locks().locks) lock->resume_in_child();
  held_locks().mutex.unlock();
}

[[maybe_unused]] const int registered = pthread_atfork(prepare, resume, resume_child);

void enlist(HeldAcrossFork* lock) {
  HeldLocks& all = held_locks();
  const std::lock_guard guard(all.mutex);
  all.locks.push_back(lock);
}

}  // namespace

HeldAcrossFork::HeldAcrossFork(std::mutex& mutex, std::function<void()> in_child)
    : mutex_(&mutex), in_child_(std::move(in_child)) {
  enlist(this);
}
HeldAcrossFork::HeldAcrossFork(std::recursive_mutex& mutex) : recursive_(&mutex) { enlist(this); }
HeldAcrossFork::~HeldAcrossFork() {
  HeldLocks& all = held_locks();
  const std::lock_guard guard(all.mutex);
  all.locks.erase(std::find(all.locks.begin(), all.locks.end(), this));
}

void HeldAcrossFork::hold() { mutex_ != nullptr ? mutex_->lock() : recursive_->lock(); }
bool HeldAcrossFork::try_hold() {
  return mutex_ != nullptr ? mutex_->try_lock() : recursive_->try_lock();
}
void HeldAcrossFork::resume() { mutex_ != nullptr ? mutex_->unlock() : recursive_->unlock(); }
void HeldAcrossFork::resume_in_child() {
  if (in_child_) in_child_();
  // Only the thread that took a recursive lock may release it, and in the child it has another id.
  if (recursive_ != nullptr)
    new (recursive_) std::recursive_mutex;
  else
    mutex_->unlock();
}

}  // namespace tenon::core
