// The devices of all OpenCL drivers, their memory, and kernels run on them.
//
// Memory is shared virtual memory (clSVMAlloc), whose addresses views may calculate with. Each device
// has one queue in order: a kernel sees what was begun before it, and only copies to the CPU wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <CL/cl.h>

#include <tenon/device/device.hpp>

#include "opencl/arguments.hpp"

namespace tenon_opencl {

// Some kernels, compiled together for each pair of element types that they are used with. Their text begins
// with `preamble_of` the types. Programs are small: a driver may take its time for each kernel of one.
struct Source {
  const char* name;
  std::string (*text)(tenon::DType type);
};

// A kernel of a source for elements of `type`, called T in its text, and `other`, called U.
struct Kernel {
  const Source* source;
  const char* name;
  tenon::DType type;
  tenon::DType other = tenon::DType::none;

  bool operator==(const Kernel& to) const {
    return source == to.source && name == to.name && type == to.type && other == to.other;
  }
};
struct KernelHash {
  size_t operator()(const Kernel& kernel) const {
    return reinterpret_cast<size_t>(kernel.source) * 31 +
           reinterpret_cast<size_t>(kernel.name) * 7 + static_cast<size_t>(kernel.type) * 64 +
           static_cast<size_t>(kernel.other);
  }
};

// A device. Drivers and the kernel compiler may be slow to start, so a program is built when the first
// of its kernels runs.
class Instance {
 public:
  Instance(cl_device_id device, int64_t index);
  ~Instance();

  cl_command_queue queue() const { return queue_; }
  cl_context context() const { return context_; }
  const std::string& name() const { return name_; }  // "opencl:0"
  int64_t bytes() const { return bytes_; }
  // Whether the CPU and the device have one memory, so that the CPU's kernels run without copies.
  bool shares_memory() const { return shares_memory_; }
  bool has_doubles() const { return has_doubles_; }
  // Lanes of the vectors that kernels calculate with.
  int64_t lanes(tenon::DType type) const;
  // Vectors of elements that one work item of an elementwise kernel takes.
  int64_t vectors() const { return shares_memory_ ? 4 : 1; }

  // Queues `items` work items in groups of `group`, which divides them.
  template <class... Arguments>
  void run(const Kernel& kernel, size_t items, size_t group, const Arguments&... arguments) {
    flush();
    run_behind(kernel, items, group, arguments...);
  }
  // Queues what elementwise ops have left for one pass (chains.hpp).
  void flush();
  // Without waiting for them.
  template <class... Arguments>
  void run_behind(const Kernel& kernel, size_t items, size_t group, const Arguments&... arguments) {
    const std::lock_guard lock(mutex_);
    QueuedKernel& ready = made(kernel);
    ready.begin(freed_);
    cl_uint place = 0;
    (ready.set(place++, arguments), ...);
    queue_kernel(ready.get(), items, group);
  }
  // The kernel `chain` of a text for elements of `type`; set(place, argument) fills its arguments.
  // It is made where `kernel` is not, and kept there.
  template <class Fill>
  void run_text(QueuedKernel& kernel, tenon::DType type, const std::string& text, size_t items,
                size_t group, const Fill& fill) {
    const std::lock_guard lock(mutex_);
    if (!kernel.is_made()) kernel = QueuedKernel(made_from(type, text));
    kernel.begin(freed_);
    fill([&](cl_uint place, const auto& argument) { kernel.set(place, argument); });
    queue_kernel(kernel.get(), items, group);
  }
  // Whether the kernel of the text is there without a compilation.
  bool has_text(tenon::DType type, const std::string& text);

  // Returns when what is queued has ended, or all but one kernel; InterruptedError where this thread is to
  // stop, and then it runs on.
  void wait();
  // Memory goes back to the driver behind what is queued.
  void free(void* data) noexcept;

  class Chains& chains() {
    return *chains_;
  }
  class Faults& faults() {
    return *faults_;
  }
  // Begun so far: kernels.
  int64_t kernels_begun() const { return begun_; }

 private:
  void queue_kernel(cl_kernel kernel, size_t items, size_t group);
  QueuedKernel& made(const Kernel& kernel);
  cl_kernel made_from(tenon::DType type, const std::string& text) const;
  cl_program program_of(const std::string& text) const;
  std::string file_of(const std::string& text) const;
  std::string preamble_of(tenon::DType type, tenon::DType other) const;
  cl_program built_from(const std::string& binary) const;

  cl_device_id device_;
  std::string name_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  int64_t bytes_ = 0, float_lanes_ = 4;
  bool shares_memory_ = false;
  bool has_doubles_ = false;
  std::string identity_;  // device and driver, in the names of files
  std::mutex mutex_;
  std::unordered_map<Kernel, QueuedKernel, KernelHash> kernels_;
  std::map<std::pair<const Source*, int>, cl_program> programs_;
  std::unique_ptr<class Chains> chains_;
  std::unique_ptr<class Faults> faults_;
  std::atomic<int64_t> begun_{0}, waited_{0}, freed_{0};
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
  std::string absence() const override { return absence_; }

  Instance& at(int64_t index) { return instances_[static_cast<size_t>(index)]; }
  const Instance& at(int64_t index) const { return instances_[static_cast<size_t>(index)]; }

 private:
  // Memory that was freed, by its size, for later tensors: in one queue they come after those before.
  struct Pool {
    std::map<int64_t, std::vector<void*>> blocks;
    int64_t bytes = 0;
  };
  void add(cl_device_id device);
  void drop_pool(int64_t index) noexcept;

  std::deque<Instance> instances_;
  std::string absence_;  // why there are none
  std::mutex mutex_;
  std::map<void*, int64_t> maps_;  // how often an allocation is mapped
  std::mutex pool_mutex_;
  std::deque<Pool> pools_;
};

// Outlives the process's static objects: drivers are gone before these.
Runtime& runtime();

// The tensor type.
struct OpenclTensor : tenon::device::Type<OpenclTensor> {
  static constexpr auto name = "opencl";
  static constexpr auto doc = "A tensor on a device of an OpenCL driver.";
  static tenon::device::Driver& driver() { return runtime(); }
  static tenon::Results tenon_function(const tenon::Call& call);
};

}  // namespace tenon_opencl
