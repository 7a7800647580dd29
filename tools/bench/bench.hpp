// Shared code of the benchmarks.
#pragma once

#include <chrono>
#include <initializer_list>

#include <benchmark/benchmark.h>

#include <tenon/tenon.hpp>

namespace bench {

using benchmark::State;
using tenon::Tensor;

// The result counts as used; what it points to is left alone.
inline void keep(const Tensor& tensor) {
  auto* handle = tensor.handle();
  benchmark::DoNotOptimize(handle);
}

// Numbers between -2 and 2, the same in each run.
inline Tensor numbers(std::initializer_list<int64_t> shape, bool requires_grad = false) {
  Tensor result = tenon::empty_tensor(shape);
  auto* elements = result.data<float>();
  const tenon::Draws draws{42, 0};
  constexpr int64_t drawn = 1 << 16;  // then over again: large tensors are made for each sample
  for (int64_t i = 0; i < result.numel(); ++i) {
    elements[i] = i < drawn ? static_cast<float>(draws.uniform(i) * 4 - 2) : elements[i - drawn];
  }
  if (requires_grad) result.requires_grad_();
  return result;
}

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace bench
