// Whether tests can use the plugin opencl.
#pragma once

#include <tenon/device.hpp>

#include "tests/support/skipped.hpp"

// Whether a driver has a device.
inline bool is_opencl_there() {
  const tenon::Service<tenon_device_service> service("device.opencl", TENON_DEVICE_SERVICE_VERSION);
  return service->count() > 0;
}

// Whether a driver has a device; without one the case counts as skipped.
inline bool needs_opencl() {
  const bool there = is_opencl_there();
  if (!there) skipped::note("no driver of OpenCL has a device (apt install pocl-opencl-icd)");
  return there;
}
