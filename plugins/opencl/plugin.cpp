// The plugin opencl: devices of OpenCL's drivers, and kernels for them.
#include <tenon/plugin.hpp>

#include "opencl/runtime.hpp"

namespace tenon_opencl {

// Runs ops without a kernel by the CPU, where the two have one memory; elsewhere these
// are refused, or copied where a config says so.
tenon::Results opencl::tenon_function(const tenon::Call& call) {
  bool shared = true;
  call.each_tensor([&](const tenon::Tensor& tensor) {
    if (tenon::is<opencl>(tensor)) shared &= instance_of(tensor).shares_memory();
  });
  if (!shared) return tenon::not_implemented;
  return tenon::device::run_mapped<opencl>(call);
}

}  // namespace tenon_opencl

namespace {

using tenon_opencl::opencl;

struct Devices : tenon::device::ServiceOf<opencl> {
  static constexpr const char* name = "device.opencl";
};
struct ToOpencl : tenon::device::To<opencl> {
  static constexpr auto schema = "opencl.to(Tensor input, int index=0) -> Tensor";
};
struct CopyToOpencl : tenon::device::Copy<opencl> {};

}  // namespace

TENON_TYPE(opencl)
TENON_SERVICE(Devices)
TENON_OP(ToOpencl)
TENON_OVERRIDE(CopyToOpencl)

TENON_PLUGIN(opencl, "0.1.0")
