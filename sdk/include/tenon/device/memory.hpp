// Memory of a device: what its driver does, and allocations, which tensors and queued work share.
//
// Library tenon::device: a plugin links tenon::plugin_device.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tenon/device/failure.hpp"

TENON_NAMESPACE_BEGIN
namespace device {

class Queue;

// Memory of the instances of a device, numbered from 0. Any thread calls the functions, several at
// the same time; they throw typed errors, a MemoryError where there is not enough memory.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual int64_t count() const = 0;  // instances of the device
  // Why there is none, and what to do, where `count` is 0; for messages.
  virtual std::string absence() const { return {}; }
  // `bytes` > 0. An address that no other allocation has; nothing but the driver and kernels of the
  // device use it as one.
  virtual void* allocate(int64_t index, int64_t bytes) = 0;
  // After the last tensor, and after the work of `queue` that uses it. Kernels that a driver queues
  // otherwise may still use it.
  virtual void free(int64_t index, void* data, int64_t bytes) noexcept = 0;
  // Contiguous bytes from the CPU and back, after the work of `queue`. On return the memory of the
  // CPU has been read or written; errors of kernels that the driver has queued itself are thrown.
  virtual void upload(int64_t index, void* to, const void* from, int64_t bytes) = 0;
  // Into plain memory.
  virtual void download(int64_t index, void* to, const void* from, int64_t bytes) = 0;
  // Until `unmap` the CPU reads and writes an allocation at its address; maps of one allocation nest.
  // A driver whose memory the CPU does not reach throws NotImplementedError.
  virtual void map(int64_t index, void* data, int64_t bytes) {
    (void)index, (void)data, (void)bytes;
    throw NotImplementedError("the memory of the device is not reached by the CPU");
  }
  virtual void unmap(int64_t index, void* data, int64_t bytes) noexcept {  // ends a map
    (void)index, (void)data, (void)bytes;
  }
  // The queue of an instance whose kernels a thread of the CPU runs (queue.hpp): kernels of the CPU in
  // mapped memory (run_mapped) are queued there, too. Null: these run in the call. It is the same one
  // in each call, and lives as long as the driver.
  virtual Queue* queue(int64_t index) {
    (void)index;
    return nullptr;
  }
  // For kernels that the driver queues itself: returns when they have ended, and throws the first
  // error that no use of a result has raised. Those of `queue` are waited for by the caller.
  virtual void synchronize(int64_t index) { (void)index; }
  // Bytes that it has; -1: not known.
  virtual int64_t total_bytes(int64_t index) const {
    (void)index;
    return -1;
  }
};

// Whether this process is the child of a fork of the one that used devices first: it has none of their
// threads and contexts. Any thread.
bool in_child_process();
// RuntimeError in such a child, that `device` is used there.
void check_process(const char* device);

// One allocation, counted in what the tensors of an instance take. Tensors that share it have one
// reference, and each piece of queued work has one. Any thread.
struct DeviceMemory {
  Driver& driver;              // driver of the instance
  std::atomic<int64_t>& used;  // bytes of all that is alive
  int64_t index = 0;           // instance, from 0
  int64_t bytes = 0;           // size of the allocation
  void* data = nullptr;        // start, as the driver has it

  // For a tensor of `shape`. A MemoryError of the driver gets the largest tensors on the instance.
  DeviceMemory(Driver& of, std::atomic<int64_t>& counted, int64_t instance, DType dtype,
               IntList shape);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }  // any thread
  void release() {  // frees it with the last one
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // The reference of the tensors.
  static void release_tensors(void* owner);

  // The error of the work that should have written it; null where there is none so far.
  std::shared_ptr<const Failure> failure() const;
  // Null: all of it has been written again.
  void set_failure(std::shared_ptr<const Failure> failure);
  // Throws the error of the work that should have written it.
  void check() const {
    if (const std::shared_ptr<const Failure> found = failure()) found->raise();
  }

 private:
  ~DeviceMemory();
  static std::string largest_text(const Driver& driver, int64_t index);

  std::atomic<int64_t> references_{1};
  DType dtype_;
  std::vector<int64_t> shape_;
  std::atomic<bool> counted_{true};  // in `used`; written while the tensors have a reference
  std::atomic<bool> has_failure_{false};
  mutable std::mutex mutex_;
  std::shared_ptr<const Failure> failure_;
};

// A reference to an allocation, which stays as long.
class MemoryReference {
 public:
  MemoryReference() = default;
  // Adds one.
  explicit MemoryReference(DeviceMemory& memory) : memory_(&memory) { memory.retain(); }
  // Takes a reference over.
  static MemoryReference take(DeviceMemory* memory) {
    MemoryReference taken;
    taken.memory_ = memory;
    return taken;
  }
  MemoryReference(const MemoryReference& other) : memory_(other.memory_) {
    if (memory_ != nullptr) memory_->retain();
  }
  MemoryReference(MemoryReference&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)) {}
  MemoryReference& operator=(MemoryReference other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~MemoryReference() {
    if (memory_ != nullptr) memory_->release();
  }
  DeviceMemory* operator->() const { return memory_; }              // its members
  DeviceMemory& operator*() const { return *memory_; }              // borrowed
  DeviceMemory* get() const { return memory_; }                     // borrowed
  DeviceMemory* give() { return std::exchange(memory_, nullptr); }  // to the caller

 private:
  DeviceMemory* memory_ = nullptr;
};

}  // namespace device
TENON_NAMESPACE_END
