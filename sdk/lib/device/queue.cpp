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
#include <unistd.h>
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

// The queues of a plugin whose threads run. They end before what their jobs use: where the main thread
// exits, before any object with static storage is destroyed, since kernels make such ones when they
// run first; where another thread exits, or the plugin is unloaded, before those that are older than
// the first queue's thread.
class RunningQueues {
 public:
  static RunningQueues& of_plugin() {
    static auto* const all = new RunningQueues;  // threads may push while static objects go
    static const EndAll with_static_objects{false};
    static thread_local const EndAll with_thread{true};
    return *all;
  }
  RunningQueues() = default;
  RunningQueues(const RunningQueues&) = delete;
  RunningQueues& operator=(const RunningQueues&) = delete;

  void add(const void* queue, std::function<void()> end) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_.emplace(queue, std::move(end));
  }
  // Waits where another thread ends this queue.
  void remove(const void* queue) {
    std::unique_lock<std::mutex> lock(mutex_);
    ends_.erase(queue);
    const auto itself = std::this_thread::get_id();
    ended_.wait(lock, [&] { return ending_ != queue || ending_thread_ == itself; });
  }

 private:
  struct EndAll {
    explicit EndAll(bool thread) : of_thread(thread) {}
    ~EndAll() {
      if (!of_thread || ::getpid() == ::gettid()) of_plugin().end();
    }
    EndAll(const EndAll&) = delete;
    EndAll& operator=(const EndAll&) = delete;
    bool of_thread;  // it is the main one's, which exits, or nothing ends
  };
  void end() {
    if (in_child_process()) return;  // the threads are not there
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ends_.empty()) {  // a job that runs to its end may begin another queue
      const auto next = ends_.extract(ends_.begin());
      ending_ = next.key();
      ending_thread_ = std::this_thread::get_id();
      lock.unlock();
      next.mapped()();
      lock.lock();
      ending_ = nullptr;
      ended_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::map<const void*, std::function<void()>> ends_;
  const void* ending_ = nullptr;  // the queue that ends now
  std::thread::id ending_thread_;
};

}  // namespace

class Queue::State {
 public:
  State(std::string device, std::function<void(const CallRecord&)> before)
      : device_(std::move(device)), before_(std::move(before)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    RunningQueues::of_plugin().remove(this);
    end();
  }
  // Waits for the job under way, and drops the others: what they should have written has a failure that
  // says so. Jobs that are pushed later run at once.
  void end() {
    std::deque<Job> dropped;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (std::exchange(stopping_, true)) return;
      dropped.swap(jobs_);
    }
    begun_.notify_all();
    if (own_queue == this)  // a job exits
      thread_.detach();
    else if (thread_.joinable())
      thread_.join();
    for (const Job& job : dropped) {
      const auto failure = std::make_shared<const Failure>(
          job.call, device_, RuntimeError("the process or the plugin ends, and it was not run"));
      for (const MemoryReference& memory : job.writes) memory->set_failure(failure);
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_ = pushed_;
      ended_all_ = true;
    }
    ended_.notify_all();
  }

  void push(Job&& job) {
    check_process(device_.c_str());
    RunningQueues& running = RunningQueues::of_plugin();
    std::unique_lock<std::mutex> lock(mutex_);
    wait_until(lock, [&] { return pushed_ - done_ < kMostJobs; });
    if (stopping_) {
      if (own_queue != this) wait_until(lock, [&] { return ended_all_; });
      lock.unlock();
      return run(job);
    }
    if (!thread_.joinable()) {
      const SignalsBlocked blocked;
      // First: where the process ends meanwhile, it ends the thread.
      running.add(this, [this] { end(); });
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
    RunningQueues::of_plugin();
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
    const NoGrad unrecorded;
    const Uninterrupted to_its_end;
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
  bool stopping_ = false, ended_all_ = false;
  std::thread thread_;
};

Queue::Queue(std::string device, std::function<void(const CallRecord&)> before)
    : state_(std::make_unique<State>(std::move(device), std::move(before))) {
  RunningQueues::of_plugin();
}
Queue::~Queue() {
  if (in_child_process()) static_cast<void>(state_.release());  // the thread is not there
}
void Queue::push(Job job) { state_->push(std::move(job)); }
void Queue::wait() { state_->wait(); }
void Queue::synchronize() { state_->synchronize(); }
bool Queue::is_own_thread() const { return own_queue == state_.get(); }

}  // namespace device
TENON_NAMESPACE_END
