// Models that people have, against ONNX Runtime: where tools/setup --models has installed both.
#include <doctest/doctest.h>

#include <tenon/grad_mode.hpp>

#include "outputs.hpp"
#include "tests/support/skipped.hpp"

using outputs::Module, outputs::Tensor;

TEST_CASE("real models give the outputs of ONNX Runtime") {
  const outputs::RealModels models(TENON_ONNX_MODELS, TENON_ONNX_SOURCES, TENON_ONNX_OUTPUTS);
  if (models.cases().empty()) skipped::note("tools/setup --models has not installed the models");
  const tenon::NoGrad no_grad;
  for (const outputs::RealModels::Case& one : models.cases()) {
    CAPTURE(one.name);
    const size_t count = one.outputs;
    try {
      const Module model = Module::create("onnx.Model", tenon::arg("path") = one.path);
      const std::vector<Tensor> found = outputs::call(model, one.inputs(), count);
      const std::vector<Tensor> expected = one.expected();
      for (size_t i = 0; i < count; ++i) {
        CAPTURE(i);
        CHECK(outputs::difference(found[i], expected[i]) < 1e-4);
      }
      model.eval();
      const tenon::Prepared prepared = tenon::prepare(model);
      for (int run = 0; run < 2; ++run) {
        const std::vector<Tensor> again = outputs::call(prepared, one.inputs(), count);
        for (size_t i = 0; i < count; ++i) {
          if (prepared.lists().front().rewrites.empty())
            CHECK(again[i].to_vector<double>() == found[i].to_vector<double>());
          else
            CHECK(outputs::difference(again[i], found[i]) < 1e-4);
        }
      }
      CAPTURE(prepared.reasons());
      CHECK(prepared.listed_runs() == 2);
    } catch (const tenon::Error& error) {
      FAIL_CHECK(error.what());
    }
  }
}
