// Operators of opset 18 to 25, against ONNX Runtime where tools/setup --models has installed it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "outputs.hpp"
#include "tests/support/skipped.hpp"

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

// Whether the file is there, and not older than the script that writes it.
bool is_current(const std::string& file, const std::string& script) {
  return std::filesystem::exists(file) &&
         std::filesystem::last_write_time(file) > std::filesystem::last_write_time(script);
}

// Cases that a script writes, with the results of ONNX Runtime. Empty where one of the tools is not installed.
std::vector<std::string> cases_of(const std::string& script, const std::string& folder,
                                  const std::string& options) {
  const char* models = std::getenv("TENON_MODELS");
  const std::string modules =
      std::string(models != nullptr ? models : TENON_ONNX_MODELS) + "/node_modules";
  const std::string sources = TENON_ONNX_SOURCES;
  std::vector<std::string> lines;
  if (!std::filesystem::exists(modules + "/onnxruntime-node")) {
    skipped::note("tools/setup --models has not installed ONNX Runtime");
    return lines;
  }
  if (!is_current(folder + "/operators.txt", sources + "/" + script)) {
    std::filesystem::remove_all(folder);
    const std::string command =
        "/usr/bin/python3 '" + sources + "/" + script + "' '" + folder + "' >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) {
      skipped::note("the package python3-onnx is not installed");
      return lines;
    }
  }
  if (!std::filesystem::exists(folder + "/cases.txt")) {
    const std::string command = "node '" + sources + "/operator_outputs.js' '" + modules + "' '" +
                                folder + "' " + options + " 2>/dev/null";
    REQUIRE(std::system(command.c_str()) == 0);
  }
  std::ifstream file(folder + "/cases.txt");
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

void check_cases(const std::vector<std::string>& lines, const std::string& folder) {
  int agreeing = 0;
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string name;
    size_t inputs = 0, results = 0;
    words >> name >> inputs >> results;
    CAPTURE(name);
    const std::string fault = fault_of(folder + "/" + name, inputs, results);
    CHECK_MESSAGE(fault.empty(), fault);
    agreeing += fault.empty() ? 1 : 0;
  }
  MESSAGE("operators that agree: " << agreeing << " of " << lines.size());
}

}  // namespace

TEST_CASE("operators of opset 18 to 25 give the outputs of ONNX Runtime") {
  const std::string folder = TENON_ONNX_OPERATORS;
  check_cases(cases_of("make_operator_cases.py", folder, ""), folder);
}

TEST_CASE("operators with attributes and shapes drawn at random give the outputs of ONNX Runtime") {
  const std::string folder = TENON_ONNX_OPERATORS "_random";
  check_cases(cases_of("make_random_cases.py", folder, "refusals"), folder);
}
