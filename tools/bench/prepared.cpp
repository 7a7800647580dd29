// Models prepared for inference, from files that ONNX Runtime runs as well: those that onnx_models.py writes in the
// folder models/ of PEER_FOLDER, and those that people have.
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <tenon/prepare/prepare.hpp>

#include "found_models.hpp"

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::arg;
using tenon::Json;
using tenon::Module;
using tenon::NoGrad;
using tenon::Tensor;

constexpr const char* kModels[] = {"resnet18_1", "resnet18_8", "cnn",       "mlp_large",
                                   "mlp_row",    "attention",  "lstm",      "lstm_row",
                                   "gelu",       "softmax",    "layer_norm"};

std::string models_folder() { return bench::peer_folder() + "/models/"; }
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

// A model that runs as it is, because it is in training mode, say, is an error of the benchmark.
void run_prepared(State& state, Module model, const std::vector<Tensor>& inputs) {
  const NoGrad no_grad;
  model.eval();
  const tenon::Prepared prepared = tenon::prepare(model);
  // The first runs make the lists, the next ones pack weights.
  for (int i = 0; i < 4; ++i) keep(bench::first_result(prepared, inputs));
  for (auto _ : state) keep(bench::first_result(prepared, inputs));
  for (const std::string& reason : prepared.reasons())
    state.SkipWithError(("runs as it is: " + reason).c_str());
  if (prepared.lists().empty()) state.SkipWithError("runs as it is: it has no lists");
}

// `open` and `inputs` throw where PEER_FOLDER lacks the model: its rows alone are left out.
template <class Open, class Inputs>
void add_benchmark(const std::string& name, const Open& open, const Inputs& inputs) {
  benchmark::RegisterBenchmark(("prepared/" + name).c_str(), [name, open, inputs](State& state) {
    try {
      run_prepared(state, open(), inputs());
    } catch (const tenon::Error& error) {
      state.SkipWithError((name + ": " + error.what()).c_str());
    }
  })->UseRealTime();
}

const bool registered = [] {
  for (const std::string name : kModels) {
    add_benchmark(
        name,
        [name] {
          return Module::create("onnx.Model", arg("path") = models_folder() + name + ".onnx");
        },
        [name] { return std::vector<Tensor>{input_of(name)}; });
  }
  for (const bench::FoundModel& model : bench::found_models()) {
    if (model.name == std::string("resnet18")) continue;  // resnet18_1 is the same file
    add_benchmark(
        model.name, [model] { return bench::open(model); }, [model] { return model.inputs(); });
  }
  return true;
}();

}  // namespace
