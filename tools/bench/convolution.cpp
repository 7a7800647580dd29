// Convolutions: forward and backward with the gradients dropped, and forward alone. torch_peer.py has the
// same ones by PyTorch.
#include "bench.hpp"

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::Tensor;

struct Sizes {
  int64_t batch, channels, side, features, kernel, padding, groups = 1;
};

Tensor convolve(const Sizes& sizes, const Tensor& x, const Tensor& w, const Tensor& b) {
  const int64_t p = sizes.padding;
  return tenon::nn::functional::conv2d(x, w, b, {1, 1}, {p, p}, {1, 1}, sizes.groups);
}
Tensor input(const Sizes& s, bool requires_grad) {
  return numbers({s.batch, s.channels, s.side, s.side}, requires_grad);
}
Tensor weight(const Sizes& s, bool requires_grad) {
  return numbers({s.features, s.channels / s.groups, s.kernel, s.kernel}, requires_grad);
}

void convolution(State& state, Sizes sizes) {
  const tenon::NoGrad no_grad;
  const Tensor x = input(sizes, false), w = weight(sizes, false), b = numbers({sizes.features});
  for (auto _ : state) keep(convolve(sizes, x, w, b));
}
void convolution_training(State& state, Sizes sizes) {
  Tensor x = input(sizes, true), w = weight(sizes, true), b = numbers({sizes.features}, true);
  const Tensor seed = convolve(sizes, x, w, b).detach();
  for (auto _ : state) {
    convolve(sizes, x, w, b).backward(seed);
    for (Tensor* leaf : {&x, &w, &b}) leaf->set_grad({});
  }
}

constexpr Sizes c1_28{64, 1, 28, 16, 3, 0}, c16_14{64, 16, 14, 32, 3, 0},
    c64_56{8, 64, 56, 64, 3, 1}, c256_14{8, 256, 14, 256, 3, 1}, c256_28_1x1{8, 256, 28, 64, 1, 0};
BENCHMARK_CAPTURE(convolution_training, c1_28, c1_28)->UseRealTime();
BENCHMARK_CAPTURE(convolution_training, c16_14, c16_14)->UseRealTime();
BENCHMARK_CAPTURE(convolution_training, c64_56, c64_56)->UseRealTime();
BENCHMARK_CAPTURE(convolution_training, c256_14, c256_14)->UseRealTime();
BENCHMARK_CAPTURE(convolution_training, c256_28_1x1, c256_28_1x1)->UseRealTime();

constexpr Sizes one_64_56{1, 64, 56, 64, 3, 1}, one_256_56_1x1{1, 256, 56, 64, 1, 0},
    depthwise_128_56{1, 128, 56, 128, 3, 1, 128}, c16_13{64, 16, 13, 32, 3, 0};
BENCHMARK_CAPTURE(convolution, one_64_56, one_64_56)->UseRealTime();
BENCHMARK_CAPTURE(convolution, one_256_56_1x1, one_256_56_1x1)->UseRealTime();
BENCHMARK_CAPTURE(convolution, depthwise_128_56, depthwise_128_56)->UseRealTime();
BENCHMARK_CAPTURE(convolution, c16_13, c16_13)->UseRealTime();
BENCHMARK_CAPTURE(convolution, c64_56, c64_56)->UseRealTime();  // it has two threads

}  // namespace
