// The devices of all OpenCL drivers, their memory, and kernels run on them.
//
// Memory is shared virtual memory (clSVMAlloc), whose addresses views may calculate with. Each device
// has one queue in order: a kernel sees what was begun before it, and only copies to the CPU wait.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <CL/cl.h>

#include <tenon/device/device.hpp>

namespace tenon_opencl {

// Throws a RuntimeError that names the function and OpenCL's code, a MemoryError where there is no
// memory.
void check(cl_int status, const char* function);

// Memory as an argument of a kernel.
struct Memory {
  const void* data;
};

// A device. Drivers and the kernel compiler may be slow to start, so its program is built when the
// first kernel runs.
class Instance {
 public:
  explicit Instance(cl_device_id device);

  cl_command_queue queue() const { return queue_; }
  cl_context context() const { return context_; }
  int64_t bytes() const { return bytes_; }
  // Whether the CPU and the device have one memory, so that the CPU's kernels run without copies.
  bool shares_memory() const { return shares_memory_; }

  // Queues `items` work items in groups of `group`, which divides them, in one dimension or two.
  template <class... Arguments>
  void run(const char* kernel, std::vector<size_t> items, std::vector<size_t> group,
           const Arguments&... arguments) {
    const std::lock_guard lock(mutex_);
    cl_kernel made = kernel_named(kernel);
    cl_uint place = 0;
    (set(made, place++, arguments), ...);
    check(clEnqueueNDRangeKernel(queue_, made, static_cast<cl_uint>(items.size()), nullptr,
                                 items.data(), group.data(), 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  }

 private:
  cl_kernel kernel_named(const char* name);
  void build();
  cl_program built_from_file(const std::string& path) const;
  void write_file(const std::string& path) const;
  std::string text(cl_device_info info) const;

  static void set(cl_kernel kernel, cl_uint place, const Memory& memory) {
    check(clSetKernelArgSVMPointer(kernel, place, memory.data), "clSetKernelArgSVMPointer");
  }
  template <class Number>
  static void set(cl_kernel kernel, cl_uint place, const Number& number) {
    check(clSetKernelArg(kernel, place, sizeof(Number), &number), "clSetKernelArg");
  }

  cl_device_id device_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  int64_t bytes_ = 0;
  bool shares_memory_ = false;
  std::mutex mutex_;
  std::map<std::string, cl_kernel> kernels_;
};

class Runtime final : public tenon::device::Driver {
 public:
  Runtime();
  int64_t count() const override { return static_cast<int64_t>(instances_.size()); }
  void* allocate(int64_t index, int64_t bytes) override;
  void free(int64_t index, void* data, int64_t bytes) noexcept override;
  void upload(int64_t index, void* to, const void* from, int64_t bytes) override;
  void download(int64_t index, void* to, const void* from, int64_t bytes) override;
  void map(int64_t index, void* data, int64_t bytes) override;
  void unmap(int64_t index, void* data, int64_t bytes) noexcept override;
  void synchronize(int64_t index) override;
  int64_t total_bytes(int64_t index) const override { return at(index).bytes(); }

  Instance& at(int64_t index) { return instances_[static_cast<size_t>(index)]; }
  const Instance& at(int64_t index) const { return instances_[static_cast<size_t>(index)]; }

 private:
  std::deque<Instance> instances_;
  std::mutex mutex_;
  std::map<void*, int64_t> maps_;  // how often an allocation is mapped
};

// Outlives the process's static objects: drivers are gone before these.
Runtime& runtime();

// The source of all kernels.
const std::string& kernel_source();

// The tensor type.
struct OpenclTensor : tenon::device::Type<OpenclTensor> {
  static constexpr auto name = "opencl";
  static constexpr auto doc = "A tensor on a device of an OpenCL driver.";
  static tenon::device::Driver& driver() { return runtime(); }
  static tenon::Results tenon_function(const tenon::Call& call);
};

// ---- operands of kernels ----

// f32, contiguous, on a device.
bool is_simple(const tenon::Tensor& tensor);
inline Memory memory_of(const tenon::Tensor& tensor) { return {tenon::device::elements(tensor)}; }
inline Instance& instance_of(const tenon::Tensor& tensor) {
  return runtime().at(tenon::device::index_of<OpenclTensor>(tensor));
}
inline tenon::Tensor empty_like(const tenon::Tensor& tensor, tenon::IntList shape) {
  return tenon::device::empty<OpenclTensor>(shape, tenon::f32,
                                            tenon::device::index_of<OpenclTensor>(tensor));
}
// Work items for loops over `count` elements: whole groups, few enough that each has some work.
size_t loop_items(int64_t count);
inline constexpr size_t kLoopGroup = 64;

}  // namespace tenon_opencl
