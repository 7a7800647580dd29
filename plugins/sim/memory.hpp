// Memory of a fake device: pages that the CPU reads and writes only while they are mapped.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include <tenon/device/device.hpp>

namespace tenon_sim {

// A read of an allocation that is not mapped ends the process by SIGSEGV, at an address of it.
class Memory final : public tenon::device::Driver {
 public:
  int64_t count() const override { return instances_; }
  void* allocate(int64_t index, int64_t bytes) override;
  void free(int64_t index, void* data, int64_t bytes) noexcept override;
  void upload(int64_t index, void* to, const void* from, int64_t bytes) override;
  void download(int64_t index, void* to, const void* from, int64_t bytes) override;
  void map(int64_t index, void* data, int64_t bytes) override;
  void unmap(int64_t index, void* data, int64_t bytes) noexcept override;
  int64_t total_bytes(int64_t) const override { return most_bytes_; }

  // Before the first allocation.
  void set_instances(int64_t count) { instances_ = count; }
  // Limits the bytes of one instance; -1: no limit.
  void set_most_bytes(int64_t bytes) { most_bytes_ = bytes; }
  // The allocation after `after` more fails; -1: none.
  void fail_allocation(int64_t after) { failing_ = after < 0 ? -1 : allocation_count_ + after; }
  int64_t allocation_count() const { return allocation_count_; }

 private:
  struct Allocation {
    int64_t bytes = 0;
    int64_t maps = 0;  // how often it is mapped
  };
  // The allocation that has the address.
  std::map<char*, Allocation>::iterator allocation_at(const void* address);

  int64_t instances_ = 2;
  std::atomic<int64_t> most_bytes_{-1}, failing_{-1}, allocation_count_{0};
  std::mutex mutex_;
  std::map<char*, Allocation> allocations_;
  std::map<int64_t, int64_t> used_;  // by instance
};

Memory& memory();

}  // namespace tenon_sim
