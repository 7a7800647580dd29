// Models prepared for inference, from the ONNX files that onnx_models.py writes for ONNX Runtime: both sides run
// the same file. PEER_FOLDER of the environment is the folder whose models/ has them.
#include <fstream>
#include <iterator>
#include <stdlib.h>
#include <string>
#include <vector>

#include <tenon/prepare/prepare.hpp>

#include "bench.hpp"

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::arg;
using tenon::Json;
using tenon::Module;
using tenon::NoGrad;
using tenon::Tensor;

constexpr const char* kModels[] = {"mlp_large", "mlp_row", "attention", "lstm",
                                   "lstm_row",  "gelu",    "softmax",   "layer_norm"};

std::string models_folder() {
  const char* folder = secure_getenv("PEER_FOLDER");
  if (folder == nullptr || *folder == '\0')
    throw tenon::ValueError("bench: PEER_FOLDER names no folder of models");
  return std::string(folder) + "/models/";
}
Tensor input_of(const std::string& name) {
  std::ifstream stream(models_folder() + "shapes.json");
  if (!stream) throw tenon::ValueError("bench: cannot read shapes.json of PEER_FOLDER");
  const Json sizes = Json::parse(std::string(std::istreambuf_iterator<char>(stream), {}))[name];
  std::vector<int64_t> shape;
  int64_t count = 1;
  for (int64_t i = 0; i < sizes.size(); ++i) {
    shape.push_back(sizes[i].integer());
    count *= shape.back();
  }
  return numbers({count}).reshape(shape);
}

void run_prepared(State& state, const std::string& name) {
  const NoGrad no_grad;
  try {
    Module model = Module::create("onnx.Model", arg("path") = models_folder() + name + ".onnx");
    model.eval();
    const tenon::Prepared prepared = tenon::prepare(model);
    const Tensor input = input_of(name);
    // The first run makes the list, the next ones pack weights.
    for (int i = 0; i < 3; ++i) keep(prepared(input));
    for (auto _ : state) keep(prepared(input));
    for (const std::string& reason : prepared.reasons())
      state.SkipWithError((name + " runs as it is: " + reason).c_str());
  } catch (const tenon::Error& error) {
    state.SkipWithError((name + ": " + error.what()).c_str());
  }
}

const bool registered = [] {
  for (const char* name : kModels) {
    benchmark::RegisterBenchmark((std::string("prepared/") + name).c_str(), run_prepared,
                                 std::string(name))
        ->UseRealTime();
  }
  return true;
}();

}  // namespace
