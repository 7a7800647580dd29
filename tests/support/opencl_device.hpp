// Whether tests can use the plugin opencl.
#pragma once

#include <string>

#include <doctest/doctest.h>

#include <tenon/device.hpp>

#include "tests/support/skipped.hpp"

// Whether a driver has a device.
inline bool is_opencl_there() {
  const tenon::Service<tenon_device_service> service("device.opencl", TENON_DEVICE_SERVICE_VERSION);
  return service->count() > 0;
}

// Whether a driver has a device. Where the plugin says that there is no driver, or none with a device, the case counts
// as skipped; where one is there and fails, it fails.
inline bool needs_opencl() {
  std::string reason;
  try {
    const tenon::device::Device first("opencl");
    return true;
  } catch (const tenon::Error& error) {
    reason = error.what();
  }
  const auto says = [&](const char* text) { return reason.find(text) != std::string::npos; };
  if (!says("; no driver of OpenCL is installed; ") &&
      !says("; no driver of OpenCL has a device; "))
    FAIL(reason);
  skipped::note("no driver of OpenCL has a device (apt install pocl-opencl-icd)");
  return false;
}
