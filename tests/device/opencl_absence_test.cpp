// The plugin opencl where no driver is installed.
#include <string>

#include <doctest/doctest.h>

#include <tenon/device.hpp>
#include <tenon/tenon.hpp>

#include "child_cases.hpp"
#include "tests/support/opencl_device.hpp"

using namespace tenon;

TEST_SUITE("device/opencl absence") {
  TEST_CASE("child: without a driver the error says what to install") {
    if (!is_child()) return;
    CHECK_FALSE(is_opencl_there());
    for (const auto& text : {error_of([] { device::to(ones({2}), "opencl"); }),
                             error_of([] { Op("opencl.to").call<Tensor>(ones({2})); })}) {
      CHECK(contains(text, "there is no device opencl:0; no driver of OpenCL is installed"));
      CHECK(contains(text, "pocl-opencl-icd"));
    }
  }

  TEST_CASE("a process without a driver says so and works on the CPU") {
    if (is_child()) return;
    CHECK(run_case("child: without a driver the error says what to install",
                   "OCL_ICD_VENDORS=/nonexistent") == 0);
  }
}
