#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <utility>

#include <tenon/device/queue.hpp>
#include <tenon/grad_mode.hpp>
#include <tenon/interrupt.hpp>

TENON_NAMESPACE_BEGIN
namespace device {

namespace {

constexpr uint64_t kMostJobs = 1024;
constexpr size_t kMostFailures = 4096;

thread_local const void* own_queue = nullptr;

// Signals are for the threads of the program.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// Ends the threads of a plugin's queues before what their jobs use is destroyed: at the exit of the
// process, and where the plugin is unloaded. Made with the first thread, it goes before what is older.
class Ending {
 public:
  static Ending& of_plugin() {
    static Ending all;
    return all;
  }
  Ending() = default;
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() {
    if (in_child_process()) return;  // the threads are not there
    for (const auto& [queue, end] : ends_) end();
  }
  void add(const void* queue, std::function<void()> end) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_.emplace(queue, std::move(end));
  }
  void remove(const void* queue) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_.erase(queue);
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::function<void()>> ends_;
};

}  // namespace

class Queue::State {
 public:
  State(std::string device, std::function<void(const CallRecord&)> before)
      : device_(std::move(device)), before_(std::move(before)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (!thread_.joinable()) return;
    Ending::of_plugin().remove(this);
    end();
  }
  // Waits for the job under way, and drops the others. Jobs that are pushed later run at once.
  void end() {
    std::deque<Job> dropped;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      dropped.swap(jobs_);
    }
    begun_.notify_all();
    thread_.join();
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = pushed_;
  }

  void push(Job&& job) {
    check_process(device_.c_str());
    std::unique_lock<std::mutex> lock(mutex_);
    wait_until(lock, [&] { return pushed_ - done_ < kMostJobs; });
    if (stopping_) {
      lock.unlock();
      return run(job);
    }
    if (!thread_.joinable()) {
      const SignalsBlocked blocked;
      Ending::of_plugin().add(this, [this] { end(); });
      thread_ = std::thread([this] { run_jobs(); });
    }
    jobs_.push_back(std::move(job));
    ++pushed_;
    lock.unlock();
    begun_.notify_all();
  }
  void wait() {
    check_process(device_.c_str());
    if (own_queue == this) return;
    std::unique_lock<std::mutex> lock(mutex_);
    const uint64_t last = pushed_;
    wait_until(lock, [&] { return done_ >= last; });
  }
  void synchronize() {
    wait();
    std::shared_ptr<const Failure> first;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      while (first == nullptr && !failures_.empty()) {
        if (!failures_.front()->was_raised()) first = failures_.front();
        failures_.pop_front();
      }
    }
    if (first != nullptr) first->raise();
  }

 private:
  // Holds the lock when it returns.
  template <class Condition>
  void wait_until(std::unique_lock<std::mutex>& lock, const Condition& condition) {
    while (!condition()) {
      ended_.wait_for(lock, std::chrono::milliseconds(20));
      stop_if_interrupted();
    }
  }
  void run_jobs() {
    own_queue = this;
    const NoGrad unrecorded;
    const Uninterrupted to_its_end;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      begun_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      if (stopping_) return;
      {
        Job job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        run(job);
      }  // its references may be the last ones to memory
      lock.lock();
      ++done_;
      ended_.notify_all();
    }
  }
  void run(Job& job) {
    std::shared_ptr<const Failure> failure;
    for (const std::vector<MemoryReference>* list : {&job.reads, &job.writes}) {
      for (const MemoryReference& memory : *list) {
        if (failure == nullptr) failure = memory->failure();
      }
    }
    if (failure == nullptr) failure = run_body(job);
    job.run = nullptr;
    if (failure == nullptr) return;
    for (const MemoryReference& memory : job.writes) memory->set_failure(failure);
  }
  std::shared_ptr<const Failure> run_body(Job& job) {
    tenon_error* error = nullptr;
    const tenon_status status = detail::guarded(&error, [&] {
      if (before_) before_(job.call);
      job.run();
    });
    if (status == TENON_OK) return nullptr;
    auto failure = std::make_shared<const Failure>(job.call, device_, Error(status, error));
    const std::lock_guard<std::mutex> lock(mutex_);
    while (!failures_.empty() &&
           (failures_.front()->was_raised() || failures_.size() >= kMostFailures))
      failures_.pop_front();
    failures_.push_back(failure);
    return failure;
  }

  const std::string device_;
  const std::function<void(const CallRecord&)> before_;
  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  std::deque<Job> jobs_;
  std::deque<std::shared_ptr<const Failure>> failures_;  // since the last synchronize
  uint64_t pushed_ = 0, done_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

Queue::Queue(std::string device, std::function<void(const CallRecord&)> before)
    : state_(std::make_unique<State>(std::move(device), std::move(before))) {}
Queue::~Queue() {
  if (in_child_process()) static_cast<void>(state_.release());  // the thread is not there
}
void Queue::push(Job job) { state_->push(std::move(job)); }
void Queue::wait() { state_->wait(); }
void Queue::synchronize() { state_->synchronize(); }
bool Queue::is_own_thread() const { return own_queue == state_.get(); }

}  // namespace device
TENON_NAMESPACE_END
