// Work that a thread of the CPU does later for a device: its stream.
//
//   struct MyDriver : Driver {
//     Queue* queue(int64_t index) override { return &queues_[index]; }
//   };
//
// Kernels of the CPU (run_mapped) are queued from then on. A kernel of the device queues itself:
//
//   static Results forward(const Call& call, const Tensor& input) {
//     const Tensor result = device::empty<Mine>(...);
//     queue.push({CallRecord(call), {memory_of<Mine>(input)}, {memory_of<Mine>(result)},
//                 [from, to, count] { ... }});
//     return result;
//   }
//
// Library tenon::device: a plugin links tenon::plugin_device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenon/device/memory.hpp"

TENON_NAMESPACE_BEGIN
namespace device {

// Jobs that one thread runs in the order in which they were pushed. The thread starts with the first
// one. Any thread may call the functions; in the child of a fork they raise a RuntimeError.
class Queue {
 public:
  struct Job {        // a call that runs later
    CallRecord call;  // for errors
    // Memory that it reads or changes, and memory that it writes; it stays until the job has ended. A
    // job does not run where one of them has a failure, which goes to what it writes.
    std::vector<MemoryReference> reads, writes;
    // Records nothing; what it throws becomes the failure of what the job writes.
    std::function<void()> run;
  };
  // `device` is its instance, "sim:1". `before` is called before each job, on the thread; what it
  // throws counts as thrown by the job.
  explicit Queue(std::string device, std::function<void(const CallRecord&)> before = {});
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  // Waits for the job under way, and drops the others.
  ~Queue();

  // Begins a job; waits where more than 1,000 have not ended.
  void push(Job job);
  // Returns when all that was pushed before has ended; at once within a job. InterruptedError where
  // this thread is to stop; the jobs run all the same.
  void wait();
  // As wait; then throws the first failure that no use of a result has raised.
  void synchronize();
  // Whether this is the thread that runs the jobs.
  bool is_own_thread() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace device
TENON_NAMESPACE_END
