// How many of the shipped ops have kernels of the plugin opencl.
#include <doctest/doctest.h>

#include <tenon/device.hpp>
#include <tenon/tenon.hpp>

#include "counted_ops.hpp"
#include "plugins/opencl/control.h"
#include "tests/support/opencl_device.hpp"

using namespace tenon;

TEST_SUITE("device/opencl coverage") {
  TEST_CASE("more than a hundred ops have kernels of opencl") {
    if (!needs_opencl()) return;
    const Service<opencl_control_service> control("opencl.control", OPENCL_CONTROL_VERSION);
    CHECK(counted_ops::count_ops("opencl:0", [&] { return control->kernels(0); }) > 100);
  }
}
