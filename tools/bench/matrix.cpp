// Matrix products next to direct calls of the BLAS.
#include <algorithm>
#include <cblas.h>
#ifdef BENCH_DNNL
#include <oneapi/dnnl/dnnl.h>
#endif

#include "bench.hpp"

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::NoGrad;
using tenon::Tensor;

void multiply(int64_t size, const float* a, const float* b, float* out) {
  const int n = static_cast<int>(size);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, out, n);
}

void limit_mm(State& state) {
  const int64_t n = state.range(0);
  const Tensor a = numbers({n, n}), b = numbers({n, n}), out = numbers({n, n});
  for (auto _ : state) {
    multiply(n, a.data<float>(), b.data<float>(), out.data<float>());
    benchmark::ClobberMemory();
  }
}
// By the best engine at hand: OpenBLAS, whose kernels the environment may pin to older instructions, or
// oneDNN where it is installed.
void multiply_by_dnnl([[maybe_unused]] int64_t n, [[maybe_unused]] const float* a,
                      [[maybe_unused]] const float* b, [[maybe_unused]] float* out) {
#ifdef BENCH_DNNL
  dnnl_sgemm('N', 'N', n, n, n, 1, a, n, b, n, 0, out, n);
#else
  multiply(n, a, b, out);
#endif
}
void limit_best_mm(State& state) {
  const int64_t n = state.range(0);
  const Tensor a = numbers({n, n}), b = numbers({n, n}), out = numbers({n, n});
  const auto run = [&](auto engine) {
    engine(n, a.data<float>(), b.data<float>(), out.data<float>());
    benchmark::ClobberMemory();
  };
  const auto seconds = [&](auto engine) {
    double least = 1e9;
    for (int i = 0; i < 5; ++i) {
      const bench::Stopwatch watch;
      run(engine);
      least = std::min(least, watch.seconds());
    }
    return least;
  };
  auto* const engine = seconds(multiply_by_dnnl) < seconds(multiply) ? multiply_by_dnnl : multiply;
  for (auto _ : state) run(engine);
}
void mm(State& state) {
  const NoGrad no_grad;
  const int64_t n = state.range(0);
  const Tensor a = numbers({n, n}), b = numbers({n, n});
  for (auto _ : state) keep(tenon::mm(a, b));
}
void limit_bmm(State& state) {
  const int64_t batch = state.range(0), n = state.range(1);
  const Tensor a = numbers({batch, n, n}), b = numbers({batch, n, n}), out = numbers({batch, n, n});
  for (auto _ : state) {
    for (int64_t i = 0; i < batch; ++i) {
      const int64_t at = i * n * n;
      multiply(n, a.data<float>() + at, b.data<float>() + at, out.data<float>() + at);
    }
    benchmark::ClobberMemory();
  }
}
void bmm(State& state) {
  const NoGrad no_grad;
  const int64_t batch = state.range(0), n = state.range(1);
  const Tensor a = numbers({batch, n, n}), b = numbers({batch, n, n});
  for (auto _ : state) keep(tenon::bmm(a, b));
}
void linear(State& state) {
  const NoGrad no_grad;
  const Tensor x = numbers({32, 64}), weight = numbers({128, 64}), bias = numbers({128});
  for (auto _ : state) keep(tenon::nn::functional::linear(x, weight, bias));
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t n : {8, 16, 32, 64, 128, 256, 512, 1024, 2048}) benchmark->Arg(n);
  benchmark->UseRealTime();
}
BENCHMARK(limit_mm)->Apply(sizes);
BENCHMARK(limit_best_mm)->Apply(sizes);
BENCHMARK(mm)->Apply(sizes);
BENCHMARK(limit_bmm)->Args({64, 8})->Args({64, 64})->UseRealTime();
BENCHMARK(bmm)->Args({64, 8})->Args({64, 64})->UseRealTime();
BENCHMARK(linear)->UseRealTime();

}  // namespace
