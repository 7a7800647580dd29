// A queue, and the thread that serves it where there is a core for it.
#include "queue.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include <tenon/plugin.hpp>
#include <tenon/parallel.hpp>

#include "agreement.hpp"

namespace mpi {

namespace {

struct Begun {
  int64_t handle;
  std::function<void(World&)> collective;
  std::function<void()> after;
};
struct Ended {
  std::exception_ptr error;
  std::function<void()> after;
};

struct Queue {
  std::mutex mutex;  // guards all members below
  std::condition_variable changed;
  std::deque<Begun> begun;  // the first is running
  std::map<int64_t, Ended> ended;
  int64_t handles = 0;
  std::optional<bool> overlaps;  // as set by the caller
  bool stops = false;
  bool running = false;  // the first, by some thread
  std::thread thread;    // none: who waits runs what was begun

  bool runs(int64_t handle) const;
  void run_first(std::unique_lock<std::mutex>& hold);
  void serve();
  // Until the condition is true.
  template <class Condition>
  void wait(std::unique_lock<std::mutex>& hold, Condition&& condition);
};

// Read at exit.
Queue& queue() {
  static auto* const instance = new Queue;
  return *instance;
}

bool Queue::runs(int64_t handle) const {
  return std::any_of(begun.begin(), begun.end(),
                     [&](const Begun& one) { return one.handle == handle; });
}

void Queue::run_first(std::unique_lock<std::mutex>& hold) {
  Begun& first = begun.front();  // a deque keeps it in place
  running = true;
  hold.unlock();
  std::exception_ptr error;
  try {
    const std::lock_guard turn(lock());
    first.collective(world());
  } catch (...) {
    error = std::current_exception();
  }
  hold.lock();
  running = false;
  ended.emplace(first.handle, Ended{error, std::move(first.after)});
  begun.pop_front();
  changed.notify_all();
}

void Queue::serve() {
  std::unique_lock hold(mutex);
  for (;;) {
    changed.wait(hold, [&] { return stops || !begun.empty(); });
    if (stops) return;
    run_first(hold);
  }
}

template <class Condition>
void Queue::wait(std::unique_lock<std::mutex>& hold, Condition&& condition) {
  while (!condition()) {
    if (thread.joinable() || running)
      changed.wait(hold);
    else
      run_first(hold);
  }
}

std::unique_lock<std::mutex> hold_idle() {
  Queue& all = queue();
  std::unique_lock hold(all.mutex);
  all.wait(hold, [&] { return all.begun.empty(); });
  return std::unique_lock(lock());
}

// A thread that shares the core of the computation delays it: transfers need both ranks to run at a
// time.
bool has_core_for_thread() {
  const std::lock_guard hold(lock());
  return world().cores > static_cast<double>(tenon::thread_count());
}

}  // namespace

Turn::Turn() : hold_(hold_idle()), world_(mpi::world()) {}

void set_overlap(std::optional<bool> overlap) {
  Queue& all = queue();
  const std::lock_guard hold(all.mutex);
  all.overlaps = overlap;
}

int64_t begin(std::function<void(World&)> collective, std::function<void()> after) {
  Queue& all = queue();
  const std::lock_guard hold(all.mutex);
  if (!all.thread.joinable()) {
    if (!all.overlaps) all.overlaps = has_core_for_thread();
    if (*all.overlaps) all.thread = std::thread([&all] { all.serve(); });
  }
  all.begun.push_back({++all.handles, std::move(collective), std::move(after)});
  all.changed.notify_all();
  return all.handles;
}

void finish(int64_t handle) {
  Queue& all = queue();
  std::unique_lock hold(all.mutex);
  all.wait(hold, [&] { return !all.runs(handle); });
  const auto found = all.ended.find(handle);
  if (found == all.ended.end()) {
    throw tenon::IndexError("wait(): no all_reduce runs under handle " + std::to_string(handle) +
                            "; begin_all_reduce_ gives one, for one wait");
  }
  const Ended ended = std::move(found->second);
  all.ended.erase(found);
  hold.unlock();
  if (ended.error != nullptr) std::rethrow_exception(ended.error);
  if (ended.after) ended.after();
}

void stop_queue() {
  Queue& all = queue();
  stop_waiting();
  {
    const std::lock_guard hold(all.mutex);
    all.stops = true;
    all.changed.notify_all();
  }
  if (all.thread.joinable()) all.thread.join();
}

}  // namespace mpi
