// Small calls: what an op costs beside its work.
#include <tenon/profile/profile.hpp>

#include "bench.hpp"

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::NoGrad;
using tenon::Op;
using tenon::Tensor;

// ---- limits ----

Tensor first_of(const Tensor& input, const Tensor&) { return input; }

void limit_function_pointer(State& state) {
  const Tensor a = numbers({1}), b = numbers({1});
  Tensor (*volatile function)(const Tensor&, const Tensor&) = &first_of;
  for (auto _ : state) keep(function(a, b));
}
BENCHMARK(limit_function_pointer);

void limit_empty(State& state) {
  for (auto _ : state) keep(tenon::empty_tensor({1}));
}
BENCHMARK(limit_empty);

void handle_copy(State& state) {
  const Tensor a = numbers({1});
  for (auto _ : state) {
    Tensor copy = a;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(handle_copy);

// ---- ops that do nothing ----

void call_first(State& state) {
  const Op op("bench.first");
  const Tensor a = numbers({1}), b = numbers({1});
  for (auto _ : state) keep(op.call<Tensor>(a, b));
}
BENCHMARK(call_first);

void call_nothing(State& state) {
  const Op op("bench.nothing");
  const Tensor a = numbers({1}), b = numbers({1});
  for (auto _ : state) op.call<void>(a, b);
}
BENCHMARK(call_nothing);

void call_fresh(State& state) {
  const Op op("bench.fresh");
  const Tensor a = numbers({1}), b = numbers({1});
  for (auto _ : state) keep(op.call<Tensor>(a, b));
}
BENCHMARK(call_fresh);

void find_op(State& state) {
  for (auto _ : state) {
    Op op("bench.first");
    benchmark::DoNotOptimize(op);
  }
}
BENCHMARK(find_op);

// ---- one element ----

template <class Call>
void run_call(State& state, const Call& call, bool recorded) {
  const tenon::GradMode mode(recorded);
  const Tensor a = numbers({1}, recorded), b = numbers({1}, recorded);
  for (auto _ : state) keep(call(a, b));
}
void call_add(State& state) {
  run_call(
      state, [](const Tensor& a, const Tensor& b) { return tenon::add(a, b); }, false);
}
BENCHMARK(call_add);
void call_add_number(State& state) {
  run_call(
      state, [](const Tensor& a, const Tensor&) { return tenon::add(a, 2.0); }, false);
}
BENCHMARK(call_add_number);
// A call that a profiler observes, next to the same call and the 100 ns that it may take for that.
void call_add_profiled(State& state) {
  const tenon::profile::Profiler profiler;
  run_call(
      state, [](const Tensor& a, const Tensor& b) { return tenon::add(a, b); }, false);
}
BENCHMARK(call_add_profiled);
void limit_add_and_100_ns(State& state) {
  const Tensor a = numbers({1}), b = numbers({1});
  constexpr int calls = 1000;
  for (auto _ : state) {
    const bench::Stopwatch watch;
    for (int i = 0; i < calls; ++i) keep(tenon::add(a, b));
    state.SetIterationTime(watch.seconds() / calls + 100e-9);
  }
}
BENCHMARK(limit_add_and_100_ns)->UseManualTime();
void call_mul_number(State& state) {
  run_call(
      state, [](const Tensor& a, const Tensor&) { return tenon::mul(a, 2.0); }, false);
}
BENCHMARK(call_mul_number);
void call_sum(State& state) {
  run_call(
      state, [](const Tensor& a, const Tensor&) { return tenon::sum(a); }, false);
}
BENCHMARK(call_sum);
void call_add_recorded(State& state) {
  run_call(
      state, [](const Tensor& a, const Tensor& b) { return tenon::add(a, b); }, true);
}
BENCHMARK(call_add_recorded);

void call_add_out(State& state) {
  const NoGrad no_grad;
  const Tensor a = numbers({1}), b = numbers({1}), c = numbers({1});
  for (auto _ : state) keep(tenon::add(a, b, 1, c));
}
BENCHMARK(call_add_out);

// ---- views ----

template <class Call>
void run_view(State& state, const Call& call) {
  const NoGrad no_grad;
  const Tensor a = numbers({2, 3});
  for (auto _ : state) keep(call(a));
}
void call_transpose(State& state) {
  run_view(state, [](const Tensor& a) { return tenon::transpose(a, 0, 1); });
}
BENCHMARK(call_transpose);
void call_unsqueeze(State& state) {
  run_view(state, [](const Tensor& a) { return tenon::unsqueeze(a, 0); });
}
BENCHMARK(call_unsqueeze);
void call_view(State& state) {
  run_view(state, [](const Tensor& a) { return tenon::view(a, {3, 2}); });
}
BENCHMARK(call_view);

}  // namespace
