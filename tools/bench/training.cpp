// Whole training steps (forward, loss, backward, SGD step, gradients dropped) and inference.
#include <vector>

#include <tenon/profile/profile.hpp>

#include "bench.hpp"

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::Module;
using tenon::NoGrad;
using tenon::Tensor;

Module make_mlp() {
  return tenon::create_module(tenon::Json::parse(R"({"type": "Sequential", "layers": [
    {"type": "Linear", "in_features": 64, "out_features": 128}, {"type": "ReLU"},
    {"type": "Linear", "in_features": 128, "out_features": 64}, {"type": "ReLU"},
    {"type": "Linear", "in_features": 64, "out_features": 10}]})"));
}
Module make_large_mlp() {
  return tenon::create_module(tenon::Json::parse(R"({"type": "Sequential", "layers": [
    {"type": "Linear", "in_features": 784, "out_features": 1024}, {"type": "ReLU"},
    {"type": "Linear", "in_features": 1024, "out_features": 1024}, {"type": "ReLU"},
    {"type": "Linear", "in_features": 1024, "out_features": 10}]})"));
}
Module make_cnn() {
  return tenon::create_module(tenon::Json::parse(R"({"type": "Sequential", "layers": [
    {"type": "Conv2d", "in_channels": 1, "out_channels": 16, "kernel_size": 3}, {"type": "ReLU"},
    {"type": "MaxPool2d", "kernel_size": 2},
    {"type": "Conv2d", "in_channels": 16, "out_channels": 32, "kernel_size": 3}, {"type": "ReLU"},
    {"type": "MaxPool2d", "kernel_size": 2}, {"type": "Flatten"},
    {"type": "Linear", "in_features": 800, "out_features": 10}]})"));
}
Tensor make_labels(int64_t count) {
  std::vector<int64_t> labels(static_cast<size_t>(count));
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int64_t>(i * 7 % 10);
  return tenon::from_range(labels.begin(), labels.end());
}

enum class Phase { all, forward, backward, step };

// Times one phase of a step, or all of it.
void run_training(State& state, const Module& model, const Tensor& inputs, Phase phase) {
  std::vector<Tensor> parameters = model.parameters();
  const Tensor labels = make_labels(inputs.size(0));
  for (auto _ : state) {
    const bench::Stopwatch forward_watch;
    const Tensor loss = tenon::nn::functional::cross_entropy(model(inputs), labels);
    const double forward = forward_watch.seconds();
    const bench::Stopwatch backward_watch;
    loss.backward();
    const double backward = backward_watch.seconds();
    const bench::Stopwatch step_watch;
    {
      const NoGrad no_grad;
      for (Tensor& parameter : parameters) {
        tenon::optim::sgd_step_(parameter, parameter.grad(), {}, 0.01);
        parameter.set_grad({});
      }
    }
    const double step = step_watch.seconds();
    keep(loss);
    if (phase == Phase::forward) state.SetIterationTime(forward);
    if (phase == Phase::backward) state.SetIterationTime(backward);
    if (phase == Phase::step) state.SetIterationTime(step);
  }
}
void run_mlp(State& state, Phase phase) {
  run_training(state, make_mlp(), numbers({state.range(0), 64}), phase);
}
void train(State& state) { run_mlp(state, Phase::all); }
void train_forward(State& state) { run_mlp(state, Phase::forward); }
void train_backward(State& state) { run_mlp(state, Phase::backward); }
void train_step(State& state) { run_mlp(state, Phase::step); }
BENCHMARK(train)->Arg(32)->Arg(64)->Arg(256)->Arg(1024)->UseRealTime();
BENCHMARK(train_forward)->Arg(64)->UseManualTime();
BENCHMARK(train_backward)->Arg(64)->UseManualTime();
BENCHMARK(train_step)->Arg(64)->UseManualTime();

void train_large(State& state) {
  run_training(state, make_large_mlp(), numbers({128, 784}), Phase::all);
}
BENCHMARK(train_large)->UseRealTime();

void train_cnn(State& state) {
  run_training(state, make_cnn(), numbers({64, 1, 28, 28}), Phase::all);
}
BENCHMARK(train_cnn)->UseRealTime();

void infer_cnn(State& state) {
  const NoGrad no_grad;
  Module model = make_cnn();
  model.eval();
  const Tensor inputs = numbers({64, 1, 28, 28});
  for (auto _ : state) keep(model(inputs));
}
BENCHMARK(infer_cnn)->UseRealTime();

void infer(State& state) {
  const NoGrad no_grad;
  Module model = make_mlp();
  model.eval();
  const Tensor inputs = numbers({state.range(0), 64});
  for (auto _ : state) keep(model(inputs));
}
BENCHMARK(infer)->Arg(1)->Arg(64)->UseRealTime();

// Steps of one sample under a profiler, which attributes the calls of backward to modules, next to the same steps and 100 ns for
// each call of theirs.
Tensor small_step(const Module& model, const Tensor& inputs) {
  Tensor loss = model(inputs).sum();
  loss.backward();
  return loss;
}
void train_profiled(State& state) {
  const Module model = make_mlp();
  const Tensor inputs = numbers({1, 64});
  tenon::profile::Profiler profiler;
  profiler.watch(model);
  for (auto _ : state) keep(small_step(model, inputs));
}
BENCHMARK(train_profiled)->UseRealTime();
void limit_train_and_100_ns(State& state) {
  const Module model = make_mlp();
  const Tensor inputs = numbers({1, 64});
  keep(small_step(model, inputs));  // gradients are there from now on, and are added to
  int64_t calls = 0;
  {
    tenon::profile::Profiler profiler;
    profiler.watch(model);
    keep(small_step(model, inputs));
    for (const tenon::profile::CallRow& row : profiler.stop().calls) calls += row.calls;
  }
  state.counters["calls"] = static_cast<double>(calls);
  for (auto _ : state) {
    const bench::Stopwatch watch;
    keep(small_step(model, inputs));
    state.SetIterationTime(watch.seconds() + 100e-9 * static_cast<double>(calls));
  }
}
BENCHMARK(limit_train_and_100_ns)->UseManualTime();

}  // namespace
