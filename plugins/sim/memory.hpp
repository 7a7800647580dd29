// Memory of a fake device: pages that the CPU reads and writes only while they are mapped.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include <tenon/device/device.hpp>

namespace tenon_sim {

// Numbers from 0 to 1 that a seed decides. Any thread.
class Chances {
 public:
  void seed(uint64_t seed) { state_ = seed; }
  double draw();

 private:
  std::atomic<uint64_t> state_{1};
};

// A read of an allocation that is not mapped ends the process by SIGSEGV, at an address of it. Kernels run
// on the thread of an instance's queue, each after a delay.
class Memory final : public tenon::device::Driver {
 public:
  Memory() { set_instances(2); }
  int64_t count() const override { return static_cast<int64_t>(instances_.size()); }
  void* allocate(int64_t index, int64_t bytes) override;
  void free(int64_t index, void* data, int64_t bytes) noexcept override;
  void upload(int64_t index, void* to, const void* from, int64_t bytes) override;
  void download(int64_t index, void* to, const void* from, int64_t bytes) override;
  void map(int64_t index, void* data, int64_t bytes) override;
  void unmap(int64_t index, void* data, int64_t bytes) noexcept override;
  tenon::device::Queue* queue(int64_t index) override { return &at(index).queue; }
  int64_t total_bytes(int64_t) const override { return most_bytes_; }

  // Before the first allocation.
  void set_instances(int64_t count);
  // Limits the bytes of one instance; -1: no limit.
  void set_most_bytes(int64_t bytes) { most_bytes_ = bytes; }
  // The allocation after `after` more fails; -1: none.
  void fail_allocation(int64_t after) { failing_ = after < 0 ? -1 : allocation_count_ + after; }
  int64_t allocation_count() const { return allocation_count_; }
  void delay_kernels(int64_t microseconds, uint64_t seed);
  int64_t kernel_count() const { return kernel_count_; }
  void fail_kernel(int64_t after) { failing_kernel_ = after < 0 ? -1 : kernel_count_ + after; }
  void fail_kernels(double probability, uint64_t seed);
  int64_t failure_count() const { return failure_count_; }
  // While it is lost the number of an instance's losses is odd.
  void set_lost(int64_t index, bool lost);

 private:
  struct Allocation {
    int64_t bytes = 0;
    int64_t maps = 0;    // how often it is mapped
    int64_t losses = 0;  // of its instance, when it was made
  };
  struct Instance {
    explicit Instance(Memory& memory, int64_t index);
    int64_t used = 0;
    std::atomic<int64_t> losses{0};
    tenon::device::Queue queue;
  };
  Instance& at(int64_t index) { return instances_[static_cast<size_t>(index)]; }
  void before_kernel(int64_t index, const tenon::device::CallRecord& call);
  // How often it was lost and found so far; RuntimeError while it is lost.
  int64_t check_found(int64_t index);
  bool fits(int64_t index, int64_t bytes);
  // The allocation that has the address.
  std::map<char*, Allocation>::iterator allocation_at(const void* address);

  std::atomic<int64_t> most_bytes_{-1}, failing_{-1}, allocation_count_{0};
  std::atomic<int64_t> kernel_count_{0}, failing_kernel_{-1}, failure_count_{0};
  std::atomic<int64_t> most_delay_{200};
  std::atomic<double> failure_probability_{0};
  Chances delays_, failures_;
  std::mutex mutex_;
  std::map<char*, Allocation> allocations_;
  std::deque<Instance> instances_;  // their queues end before what these use
};

Memory& memory();

}  // namespace tenon_sim
