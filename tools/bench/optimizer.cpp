// A step of an optimizer on 10 M parameters, beside the time that its memory traffic takes.
#include <vector>

#include "bench.hpp"

namespace {

using bench::numbers;
using bench::State;
using tenon::Tensor;

constexpr int64_t count = 10'000'000;

void adam(State& state) {
  const tenon::NoGrad no_grad;
  const Tensor parameter = numbers({count}), gradient = numbers({count});
  const Tensor mean = tenon::zeros({count}), square = tenon::zeros({count});
  int64_t step = 0;
  for (auto _ : state) {
    tenon::optim::adam_step_(parameter, gradient, mean, square, ++step, 0.001);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(adam)->UseRealTime();

// As many elements in 100 tensors: all in one call, and one after another.
struct Many {
  std::vector<Tensor> parameters, gradients, means, squares;
  Many() {
    for (int64_t i = 0; i < 100; ++i) {
      parameters.push_back(numbers({count / 100}));
      gradients.push_back(numbers({count / 100}));
      means.push_back(tenon::zeros({count / 100}));
      squares.push_back(tenon::zeros({count / 100}));
    }
  }
};
void adam_list(State& state) {
  const tenon::NoGrad no_grad;
  const Many many;
  int64_t step = 0;
  for (auto _ : state) {
    tenon::optim::adam_steps_(many.parameters, many.gradients, many.means, many.squares, ++step,
                              0.001);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(adam_list)->UseRealTime();
void adam_each(State& state) {
  const tenon::NoGrad no_grad;
  const Many many;
  int64_t step = 0;
  for (auto _ : state) {
    ++step;
    for (size_t i = 0; i < many.parameters.size(); ++i)
      tenon::optim::adam_step_(many.parameters[i], many.gradients[i], many.means[i],
                               many.squares[i], step, 0.001);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(adam_each)->UseRealTime();

// The limit of adam: its arrays read and written once.
void limit_adam(State& state) {
  const Tensor tensors[] = {numbers({count}), numbers({count}), numbers({count}), numbers({count})};
  auto *p = tensors[0].data<float>(), *m = tensors[1].data<float>(), *v = tensors[2].data<float>();
  const auto* g = tensors[3].data<const float>();
  for (auto _ : state) {
#if !defined(__clang__)
#pragma GCC ivdep
#endif
    for (int64_t i = 0; i < count; ++i) {
      m[i] += g[i];
      v[i] -= g[i];
      p[i] += m[i];
    }
    benchmark::ClobberMemory();
  }
}
BENCHMARK(limit_adam)->UseRealTime();

}  // namespace
