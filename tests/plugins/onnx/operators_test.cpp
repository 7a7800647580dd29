// Operators of opset 18 to 25, against ONNX Runtime where tools/setup --models has installed it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "outputs.hpp"

namespace {

using outputs::Module, outputs::Tensor;

// Empty where the results agree.
std::string fault_of(const std::string& folder, size_t inputs, size_t results) {
  try {
    const std::string file = folder + "/model.onnx";
    const auto path = tenon::arg("path") = file;
    const bool like = folder.find("/like_") != std::string::npos;
    const Module model =
        like ? Module::create("onnx.Model", path, tenon::arg("like") = "onnxruntime")
             : Module::create("onnx.Model", path);
    const std::vector<Tensor> found =
        outputs::call(model, outputs::read_all(folder, "input", inputs), results);
    const std::vector<Tensor> expected = outputs::read_all(folder, "output", results);
    for (size_t i = 0; i < results; ++i) {
      const double difference = outputs::difference(found[i], expected[i]);
      if (!(difference < 1e-5))
        return "output " + std::to_string(i) + " differs by " + std::to_string(difference) + ": " +
               found[i].text() + " for " + expected[i].text();
    }
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("operators of opset 18 to 25 give the outputs of ONNX Runtime") {
  const char* models = std::getenv("TENON_MODELS");
  const std::string modules =
      std::string(models != nullptr ? models : TENON_ONNX_MODELS) + "/node_modules";
  const std::string folder = TENON_ONNX_OPERATORS, sources = TENON_ONNX_SOURCES;
  if (!std::filesystem::exists(modules + "/onnxruntime-node")) {
    MESSAGE("skipped: tools/setup --models has not installed ONNX Runtime");
    return;
  }
  if (!std::filesystem::exists(folder + "/operators.txt")) {
    const std::string command = "/usr/bin/python3 '" + sources + "/make_operator_cases.py' '" +
                                folder + "' >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) {
      MESSAGE("skipped: the package python3-onnx is not installed");
      return;
    }
  }
  if (!std::filesystem::exists(folder + "/cases.txt")) {
    const std::string command =
        "node '" + sources + "/operator_outputs.js' '" + modules + "' '" + folder + "'";
    REQUIRE(std::system(command.c_str()) == 0);
  }
  std::ifstream file(folder + "/cases.txt");
  int agreeing = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    size_t inputs = 0, results = 0;
    words >> name >> inputs >> results;
    CAPTURE(name);
    const std::string fault = fault_of(folder + "/" + name, inputs, results);
    CHECK_MESSAGE(fault.empty(), fault);
    agreeing += fault.empty() ? 1 : 0;
  }
  MESSAGE("operators that agree: " << agreeing);
}
