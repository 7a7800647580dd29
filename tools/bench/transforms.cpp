// Derivatives of functions, beside functorch (torch_peer.py), and rematerialisation beside the same without.
#include <tenon/nn_ops.hpp>
#include <tenon/transforms/checkpoint.hpp>
#include <tenon/transforms/jacobian.hpp>

#include "bench.hpp"

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::Tensor;
namespace tt = tenon::transforms;

// 256 -> 256 -> 256 by tanh.
Tensor network(const Tensor& x) {
  static const Tensor first = numbers({256, 256}) * 0.05, second = numbers({256, 256}) * 0.05;
  return tenon::tanh(tenon::matmul(tenon::tanh(tenon::matmul(x, first)), second));
}

void transforms_jacrev(State& state) {
  const Tensor x = numbers({256});
  for (auto _ : state) keep(tt::jacrev(network)(x));
}
BENCHMARK(transforms_jacrev);

void transforms_hessian(State& state) {
  const Tensor x = numbers({64}), weight = numbers({64, 64}) * 0.1;
  const auto loss = [&](const Tensor& y) {
    return tenon::sum(tenon::tanh(tenon::matmul(y, weight)) * y);
  };
  for (auto _ : state) keep(tt::hessian(loss)(x));
}
BENCHMARK(transforms_hessian);

// A step of 24 layers.
template <bool kRecomputed>
void checkpointed_layers(State& state) {
  std::vector<Tensor> weights;
  for (int i = 0; i < 24; ++i) weights.push_back(numbers({256, 256}, true));
  const Tensor x = numbers({128, 256}, true);
  const auto layer = [](const Tensor& input, const Tensor& weight) {
    const Tensor hidden = tenon::nn::functional::gelu(tenon::matmul(input, weight) * 0.05);
    return tenon::tanh(hidden * hidden + input);
  };
  for (auto _ : state) {
    Tensor y = x;
    for (const Tensor& weight : weights)
      y = kRecomputed ? tt::checkpoint(layer, y, weight) : layer(y, weight);
    tenon::sum(y).backward();
    for (Tensor& weight : weights) weight.set_grad({});
    Tensor(x).set_grad({});
  }
}
void checkpoint_kept(State& state) { checkpointed_layers<false>(state); }
BENCHMARK(checkpoint_kept);
void checkpoint_recomputed(State& state) { checkpointed_layers<true>(state); }
BENCHMARK(checkpoint_recomputed);

}  // namespace
