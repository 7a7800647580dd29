// Models that people have, against ONNX Runtime: where tools/setup --models has installed both.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include <tenon/grad_mode.hpp>
#include <tenon/module.hpp>
#include <tenon/runtime.hpp>
#include <tenon/tenon.hpp>

namespace {

using tenon::Module, tenon::Op, tenon::Tensor, tenon::Value;

std::string models_folder() {
  const char* folder = std::getenv("TENON_MODELS");
  return folder != nullptr ? folder : TENON_ONNX_MODELS;
}

Tensor read(const std::string& path) { return Op("data.read_npy").call<Tensor>(path); }

std::vector<Tensor> call(const Module& model, const std::vector<Tensor>& inputs, size_t outputs) {
  std::vector<tenon_value> values;
  for (const Tensor& one : inputs) values.push_back(tenon::Argument(one).value());
  tenon_value results[tenon::detail::max_results]{};
  tenon::detail::check(
      tenon::service::modules().call, model.handle(),
      static_cast<const tenon_value*>(values.data()), static_cast<int64_t>(values.size()),
      static_cast<const tenon_string*>(nullptr), static_cast<const tenon_value*>(nullptr),
      int64_t{0}, results, static_cast<int64_t>(outputs));
  std::vector<Tensor> list;
  for (size_t i = 0; i < outputs; ++i) list.push_back(Value(results[i]).tensor());
  return list;
}

// The largest difference, as a part of the largest number.
double difference(const Tensor& found, const Tensor& expected) {
  REQUIRE(found.dtype() == expected.dtype());
  REQUIRE(found.sizes() == expected.sizes());
  const auto a = found.to_vector<double>(), b = expected.to_vector<double>();
  double most = 0, largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    REQUIRE_FALSE(std::isnan(a[i]));
    most = std::max(most, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return largest > 0 ? most / largest : most;
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
    size_t inputs = 0, outputs = 0;
    words >> name >> path >> inputs >> outputs;
    CAPTURE(name);
    // Its Resize needs an op of a plugin that may be missing.
    if (name.compare(0, 3, "det") == 0 &&
        tenon::providers(tenon::ItemKind::op, "nn.functional.resize").size() == 0)
      continue;
    std::vector<Tensor> given;
    for (size_t i = 0; i < inputs; ++i)
      given.push_back(read(folder + "/" + name + "/input_" + std::to_string(i) + ".npy"));
    try {
      const Module model = Module::create("onnx.Model", tenon::arg("path") = modules + "/" + path);
      const std::vector<Tensor> found = call(model, given, outputs);
      for (size_t i = 0; i < outputs; ++i) {
        CAPTURE(i);
        CHECK(difference(found[i], read(folder + "/" + name + "/output_" + std::to_string(i) +
                                        ".npy")) < 1e-4);
      }
    } catch (const tenon::Error& error) {
      FAIL_CHECK(error.what());
    }
  }
}
