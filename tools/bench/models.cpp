// Models in the ONNX format, from their files to results: those of packages of npm that people
// have, and ResNet-18 as onnx_models.py writes it. PEER_FOLDER of the environment is the folder
// that `tools/setup --models` fills; onnx_peer.js does the same with ONNX Runtime.
#include <string>
#include <vector>

#include "found_models.hpp"

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::Module;
using tenon::NoGrad;
using tenon::Tensor;

using bench::first_result;
using bench::open;
using Case = bench::FoundModel;

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

struct Kind {
  const char* prefix;
  void (*run)(State&, const Case&);
};
constexpr Kind kKinds[] = {{"load_", load_model}, {"open_", open_model}, {"run_", run_model}};

const bool registered = [] {
  for (const Kind& kind : kKinds) {
    for (const Case& one : bench::found_models()) {
      benchmark::RegisterBenchmark((kind.prefix + std::string(one.name)).c_str(), kind.run, one)
          ->UseRealTime();
    }
  }
  return true;
}();

}  // namespace
