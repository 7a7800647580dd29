// Inference: whole models and single layers. onnx_models.py writes the same ones for ONNX Runtime; those
// that other files measure (the CNN, convolutions, attention, LSTM) are there.
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include <tenon/state/module_file.hpp>

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

Module in_eval_mode(Module model) {
  model.eval();
  return model;
}
void infer(State& state, const Module& model, const Tensor& input) {
  const NoGrad no_grad;
  // Weights that come again are kept packed: as a session of the peer, which packs them when it opens.
  for (int i = 0; i < 2; ++i) keep(model(input));
  for (auto _ : state) keep(model(input));
}

Json read_config(const char* file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error(std::string("cannot read ") + file);
  return Json::parse(std::string(std::istreambuf_iterator<char>(stream), {}));
}
void resnet18(State& state) {
  // One for all samples, of which each has few calls.
  static const Module model =
      in_eval_mode(tenon::state::create_module(read_config(BENCH_RESNET18)["model"]));
  infer(state, model, numbers({state.range(0), 3, 224, 224}));
}
BENCHMARK(resnet18)->Arg(1)->Arg(8)->UseRealTime();

void infer_large(State& state) {
  infer(state, in_eval_mode(tenon::create_module(Json::parse(R"({"type": "Sequential", "layers": [
    {"type": "Linear", "in_features": 784, "out_features": 1024}, {"type": "ReLU"},
    {"type": "Linear", "in_features": 1024, "out_features": 1024}, {"type": "ReLU"},
    {"type": "Linear", "in_features": 1024, "out_features": 10}]})"))),
        numbers({128, 784}));
}
BENCHMARK(infer_large)->UseRealTime();

void layer_norm_forward(State& state) {
  infer(state, Module::create("LayerNorm", arg("normalized_shape") = 256), numbers({1024, 256}));
}
void softmax_forward(State& state) {
  infer(state, Module::create("Softmax", arg("dim") = -1), numbers({64, 128, 128}));
}
void gelu_forward(State& state) { infer(state, Module::create("GELU"), numbers({1024, 1024})); }
BENCHMARK(layer_norm_forward)->UseRealTime();
BENCHMARK(softmax_forward)->UseRealTime();
BENCHMARK(gelu_forward)->UseRealTime();

}  // namespace
