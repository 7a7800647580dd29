// The plugin opencl: devices of OpenCL's drivers, and kernels for them.
#include <tenon/plugin.hpp>

#include "opencl/runtime.hpp"

namespace tenon_opencl {

// Runs ops without a kernel by the CPU, where the two have one memory; elsewhere these
// are refused, or copied where a config says so.
tenon::Results OpenclTensor::tenon_function(const tenon::Call& call) {
  bool shared = true;
  call.each_tensor([&](const tenon::Tensor& tensor) {
    if (tenon::is<OpenclTensor>(tensor)) shared &= instance_of(tensor).shares_memory();
  });
  if (!shared) return tenon::not_implemented;
  return tenon::device::run_mapped<OpenclTensor>(call);
}

}  // namespace tenon_opencl

namespace {

using tenon_opencl::OpenclTensor;

struct Devices : tenon::device::ServiceOf<OpenclTensor> {
  static constexpr const char* name = "device.opencl";
};
struct ToOpencl : tenon::device::To<OpenclTensor> {
  static constexpr auto schema = "opencl.to(Tensor input, int index=0) -> Tensor";
};
struct CopyToOpencl : tenon::device::Copy<OpenclTensor> {};

}  // namespace

TENON_TYPE(OpenclTensor)
TENON_SERVICE(Devices)
TENON_OP(ToOpencl)
TENON_OVERRIDE(CopyToOpencl)

TENON_PLUGIN(opencl, "0.1.0")
