// The devices of all OpenCL drivers, their memory, and kernels run on them.
//
// Memory is shared virtual memory (clSVMAlloc), whose addresses views may calculate with. Each device
// has one queue in order: a kernel sees what was begun before it, and only copies to the CPU wait.
#pragma once

#include <array>
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

namespace tenon_opencl {

// Throws a RuntimeError that names the function and OpenCL's code, a MemoryError where there is no
// memory.
void check(cl_int status, const char* function);

// Memory as an argument of a kernel.
struct Memory {
  const void* data;
};

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
  explicit Instance(cl_device_id device);
  ~Instance();

  cl_command_queue queue() const { return queue_; }
  cl_context context() const { return context_; }
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
    queue_kernel(made(kernel), items, group, arguments...);
  }
  // The kernel `chain` of a text for elements of `type`; set(place, argument) fills its arguments.
  // It is made where `kernel` is null, and kept there.
  template <class Fill>
  void run_text(cl_kernel& kernel, tenon::DType type, const std::string& text, size_t items,
                size_t group, const Fill& fill) {
    const std::lock_guard lock(mutex_);
    if (kernel == nullptr) kernel = made_from(type, text);
    fill([&](cl_uint place, const auto& argument) { set(kernel, place, argument); });
    queue_kernel(kernel, items, group);
  }
  // Whether the kernel of the text is there without a compilation.
  bool has_text(tenon::DType type, const std::string& text);

  // ---- faults that kernels find, as an index that is out of range ----

  // The memory that kernels write them to (note_fault of the preamble).
  Memory faults();
  // The code of a fault with such a message, in which {} is the index.
  cl_int fault_code(std::string message);
  // After a wait: throws the first one, as an IndexError.
  void check_faults();

  class Chains& chains() {
    return *chains_;
  }
  // Begun so far: kernels.
  int64_t kernels_begun() const { return begun_; }

 private:
  template <class... Arguments>
  void queue_kernel(cl_kernel kernel, size_t items, size_t group, const Arguments&... arguments) {
    cl_uint place = 0;
    (set(kernel, place++, arguments), ...);
    check(clEnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
    ++begun_;
  }
  cl_kernel made(const Kernel& kernel);
  cl_kernel made_from(tenon::DType type, const std::string& text) const;
  cl_program program_of(const std::string& text) const;
  std::string file_of(const std::string& text) const;
  std::string preamble_of(tenon::DType type, tenon::DType other) const;
  cl_program built_from_file(const std::string& path) const;
  void write_file(cl_program program, const std::string& path) const;
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
  int64_t bytes_ = 0;
  int64_t float_lanes_ = 4;
  bool shares_memory_ = false;
  bool has_doubles_ = false;
  std::string identity_;  // device and driver, in the names of files
  std::mutex mutex_;
  std::unordered_map<Kernel, cl_kernel, KernelHash> kernels_;
  std::map<std::pair<const Source*, int>, cl_program> programs_;
  std::unique_ptr<class Chains> chains_;
  std::mutex faults_mutex_;
  void* faults_ = nullptr;
  std::deque<std::string> messages_;  // texts of faults that are not checked yet
  std::atomic<int64_t> begun_{0};
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
  // Memory that was freed, by its size, for later tensors: in one queue they come after those before.
  struct Pool {
    std::map<int64_t, std::vector<void*>> blocks;
    int64_t bytes = 0;
  };
  void drop_pool(int64_t index) noexcept;

  std::deque<Instance> instances_;
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
