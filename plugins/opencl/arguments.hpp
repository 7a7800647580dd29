// Kernels of the driver and their arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <CL/cl.h>

namespace tenon_opencl {

// Throws a RuntimeError that names the function and OpenCL's code, a MemoryError where there is no
// memory.
void check(cl_int status, const char* function);

// Memory as an argument of a kernel.
struct Memory {
  const void* data;
};
// Bytes as an argument of a kernel: a structure whose size the text decides.
struct Bytes {
  const void* data;
  size_t size;
};

// A kernel with the arguments that it has: each one that is set costs the driver an allocation, so those that
// stay the same are not set again.
class QueuedKernel {
 public:
  QueuedKernel() = default;
  explicit QueuedKernel(cl_kernel kernel) : kernel_(kernel) {}
  bool is_made() const { return kernel_ != nullptr; }
  cl_kernel get() const { return kernel_; }

  // Before arguments are set. `freed`: how often memory was given back to the driver, after which an address
  // may be that of other memory.
  void begin(int64_t freed) {
    if (freed_ != freed) arguments_.clear();
    freed_ = freed;
  }
  void set(cl_uint place, const Memory& memory);
  void set(cl_uint place, const Bytes& bytes);
  template <class Number>
  void set(cl_uint place, const Number& number) {
    set(place, Bytes{&number, sizeof number});
  }

 private:
  using Given = std::vector<unsigned char>;
  // The place of an argument that is another one than before: unknown until the driver has taken it.
  Given* changed(cl_uint place, const Bytes& bytes);

  cl_kernel kernel_ = nullptr;
  int64_t freed_ = 0;
  std::vector<Given> arguments_;
};

}  // namespace tenon_opencl
