// Models that people have, against ONNX Runtime: where tools/setup --models has installed both.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include <tenon/grad_mode.hpp>

#include "outputs.hpp"

namespace {

using outputs::Module, outputs::Tensor;

std::string models_folder() {
  const char* folder = std::getenv("TENON_MODELS");
  return folder != nullptr ? folder : TENON_ONNX_MODELS;
}

}  // namespace

TEST_CASE("real models give the outputs of ONNX Runtime") {
  const std::string modules = models_folder() + "/node_modules", folder = TENON_ONNX_OUTPUTS;
  if (!std::filesystem::exists(modules + "/onnxruntime-node")) {
    MESSAGE("skipped: tools/setup --models has not installed the models");
    return;
  }
  if (!std::filesystem::exists(folder + "/cases.txt")) {
    const std::string command = std::string("node '") + TENON_ONNX_SOURCES +
                                "/runtime_outputs.js' '" + modules + "' '" + folder + "'";
    REQUIRE(std::system(command.c_str()) == 0);
  }
  const tenon::NoGrad no_grad;
  std::ifstream file(folder + "/cases.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, path;
    size_t inputs = 0, count = 0;
    words >> name >> path >> inputs >> count;
    CAPTURE(name);
    try {
      const Module model = Module::create("onnx.Model", tenon::arg("path") = modules + "/" + path);
      const std::string values = folder + "/" + name;
      const std::vector<Tensor> found =
          outputs::call(model, outputs::read_all(values, "input", inputs), count);
      const std::vector<Tensor> expected = outputs::read_all(values, "output", count);
      for (size_t i = 0; i < count; ++i) {
        CAPTURE(i);
        CHECK(outputs::difference(found[i], expected[i]) < 1e-4);
      }
      model.eval();
      const tenon::Prepared prepared = tenon::prepare(model);
      for (int run = 0; run < 2; ++run) {
        const std::vector<Tensor> again =
            outputs::call(prepared, outputs::read_all(values, "input", inputs), count);
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
