// Real models of ONNX files on a device of OpenCL, against the CPU.
#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/device.hpp>
#include <tenon/grad_mode.hpp>

#include "outputs.hpp"
#include "tests/support/opencl_device.hpp"

namespace {

using outputs::Module, outputs::Tensor;
namespace device = tenon::device;

std::vector<Tensor> on(const device::Device& place, std::vector<Tensor> tensors) {
  for (Tensor& tensor : tensors) tensor = device::to(tensor, place);
  return tensors;
}

}  // namespace

// Within 1e-5 of the largest number; where sums of a model cancel, within what ONNX Runtime differs, four times: 2.4 has
// been seen by AVX2.
TEST_CASE("real models give on a device of OpenCL what they give on the CPU") {
  if (!needs_opencl()) return;
  const device::Device place("opencl:0");
  const outputs::RealModels models(TENON_ONNX_MODELS, TENON_ONNX_SOURCES, TENON_ONNX_OUTPUTS);
  if (models.cases().empty()) skipped::note("tools/setup --models has not installed the models");
  const tenon::NoGrad no_grad;
  for (const outputs::RealModels::Case& one : models.cases()) {
    CAPTURE(one.name);
    try {
      const Module model = Module::create("onnx.Model", tenon::arg("path") = one.path);
      const std::vector<Tensor> expected = outputs::call(model, one.inputs(), one.outputs);
      device::move(model, place);
      const std::vector<Tensor> found = outputs::call(model, on(place, one.inputs()), one.outputs);
      for (size_t i = 0; i < one.outputs; ++i) {
        CAPTURE(i);
        CHECK(device::name_of(found[i]) == place.name());
        const double other = outputs::difference(one.expected()[i], expected[i]);
        CHECK(outputs::difference(device::to(found[i], "cpu"), expected[i]) <
              std::max(1e-5, 4 * other));
      }
    } catch (const tenon::Error& error) {
      FAIL_CHECK(error.what());
    }
  }
}
