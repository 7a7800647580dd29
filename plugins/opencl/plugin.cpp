// The plugin opencl: devices of OpenCL's drivers, and kernels for them.
#include <mutex>
#include <string>

#include <tenon/plugin.hpp>

#include "opencl/control.h"
#include "opencl/operands.hpp"

namespace tenon_opencl {

namespace {

// Calls that ran on the CPU.
struct Mapped {
  std::mutex mutex;
  int64_t calls = 0;
  std::string op;
};
Mapped& mapped() {
  static Mapped all;
  return all;
}

}  // namespace

// Runs ops without a kernel by the CPU, where the two have one memory; elsewhere these
// are refused, or copied where a config says so.
tenon::Results OpenclTensor::tenon_function(const tenon::Call& call) {
  bool shared = true;
  call.each_tensor([&](const Tensor& tensor) {
    if (is_there(tensor)) shared &= instance_of(tensor).shares_memory();
  });
  if (!shared) return tenon::not_implemented;
  {
    const std::lock_guard lock(mapped().mutex);
    ++mapped().calls;
    mapped().op = call.name();
  }
  return tenon::device::run_mapped<OpenclTensor>(call);
}

namespace {

struct Devices : tenon::device::ServiceOf<OpenclTensor> {
  static constexpr const char* name = "device.opencl";
};
struct ToOpencl : tenon::device::To<OpenclTensor> {
  static constexpr auto schema = "opencl.to(Tensor input, int index=0) -> Tensor";
};

struct Control {
  static constexpr const char* name = "opencl.control";
  static constexpr const char* doc = "What the devices have done.";
  static int64_t TENON_CALL kernels(int64_t index) {
    return index < 0 || index >= runtime().count() ? 0 : runtime().at(index).kernels_begun();
  }
  static int64_t TENON_CALL mapped_calls() {
    const std::lock_guard lock(mapped().mutex);
    return mapped().calls;
  }
  static const char* TENON_CALL mapped_op() {
    static thread_local std::string op;
    const std::lock_guard lock(mapped().mutex);
    op = mapped().op;
    return op.c_str();
  }
  static constexpr opencl_control_service table{
      {sizeof(opencl_control_service), OPENCL_CONTROL_VERSION}, kernels, mapped_calls, mapped_op};
};

}  // namespace

}  // namespace tenon_opencl

using namespace tenon_opencl;

TENON_TYPE(OpenclTensor)
TENON_SERVICE(Devices)
TENON_SERVICE(Control)
TENON_OP(ToOpencl)

TENON_PLUGIN(opencl, "1.0.0")
