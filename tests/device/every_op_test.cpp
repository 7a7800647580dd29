// Every shipped op with samples on a device: how many are queued there, and operands that do not fit. Their
// results, gradients and tangents are compared by `tenon check DEVICE --against PLUGINS` (CMakeLists.txt).
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/device.hpp>
#include <tenon/tenon.hpp>

#include "counted_ops.hpp"
#include "plugins/sim/control.h"

using namespace counted_ops;

namespace {

std::vector<std::string> problems;
void report(const Case& one, const std::string& what) {
  const std::string line = one.op + ": " + what;
  if (problems.empty() || problems.back() != line) problems.push_back(line);
}

// Matrices that have an inverse, where it has two dimensions.
Tensor regular(const std::vector<int64_t>& shape, DType dtype) {
  if (shape.size() < 2) return ones(shape, dtype);
  return eye(shape[shape.size() - 2], shape.back()).to(dtype).expand(shape).clone();
}

// The operands with another size of one dimension of one of them, or a dimension more. Integers are 0, which
// is an index of most things.
std::vector<std::vector<Tensor>> misshapen(const std::vector<Tensor>& operands) {
  std::vector<std::vector<Tensor>> all;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor& given = operands[i];
    for (int64_t d = 0; d <= given.dim(); ++d) {
      std::vector<int64_t> shape = given.sizes();
      if (d < given.dim())
        shape[static_cast<size_t>(d)] += 1;
      else
        shape.push_back(2);
      all.push_back(operands);
      all.back()[i] =
          is_floating(given.dtype()) ? regular(shape, given.dtype()) : zeros(shape, given.dtype());
    }
  }
  return all;
}

// Calls that the CPU refuses for a reason that is not an index: the device refuses them in the call.
int refused_late(const Case& one) {
  int refused = 0;
  for (const std::vector<Tensor>& operands : misshapen(operands_of(one))) {
    try {
      called(one, copies(operands, "cpu"));
      continue;
    } catch (const IndexError&) {
      continue;
    } catch (const std::exception&) {
      ++refused;
    }
    try {
      const std::vector<Tensor> there = copies(operands, "sim:1");
      const std::vector<Tensor> results = called(one, there);
      try {
        device::synchronize(device::Device("sim:1"));
        report(one, "shapes that the CPU refuses are taken");
      } catch (const std::exception& error) {
        report(one, std::string("late: ") + error.what());
      }
    } catch (const std::exception&) {
      // As it should be.
    }
  }
  return refused;
}

}  // namespace

TEST_SUITE("device/every_op") {
  TEST_CASE("most ops are queued on a device that has the kernels of the CPU") {
    const Service<sim_control_service> control("sim.control", SIM_CONTROL_VERSION);
    CHECK(count_ops("sim:1", [&] { return control->kernels(); }) > 180);
  }

  TEST_CASE("operands that do not fit together are refused in the call, by every op") {
    problems.clear();
    int refused = 0;
    for_each_op(plugins, 2, [&](const std::string&, const std::vector<Case>& cases) {
      for (const Case& one : cases) refused += refused_late(one);
    });
    for (const std::string& problem : problems) MESSAGE(problem);
    CHECK(problems.empty());
    MESSAGE(refused, " refusals");
    CHECK(refused > 300);
  }
}
