// Calls with typed operands, and what a table full of ops and types costs those that are not
// called.
#include "bench.hpp"
#include "child.hpp"

namespace {

using bench::State;
using tenon::Op;
using tenon::Tensor;

Tensor make_typed(const char* type) { return Op("bench.make_typed").call<Tensor>(type); }

// ---- in this process ----

void run_add(State& state, const char* type) {
  const tenon::NoGrad no_grad;
  const Tensor a = make_typed(type), b = make_typed(type);
  for (auto _ : state) bench::keep(tenon::add(a, b));
}
void typed_add_scalars(State& state) { run_add(state, "BenchScalarTensor"); }
void typed_add_children(State& state) { run_add(state, "BenchSubTensor"); }
void typed_add_forwarding(State& state) { run_add(state, "BenchForwardingTensor"); }
BENCHMARK(typed_add_scalars);
BENCHMARK(typed_add_children);
BENCHMARK(typed_add_forwarding);

void typed_mean_scalar(State& state) {
  const Op mean("mean");
  const Tensor a = make_typed("BenchScalarTensor");
  for (auto _ : state) {
    auto result = mean.call<double>(a);
    benchmark::DoNotOptimize(result);
  }
}
BENCHMARK(typed_mean_scalar);

// ---- among few and among many, each in a separate process ----

void run_among(State& state, const char* what, const char* crowd) {
  for (auto _ : state)
    state.SetIterationTime(bench::timed_child({BENCH_START, what, BENCH_PLUGIN, crowd}));
}
void find_among_few(State& state) { run_among(state, "find", ""); }
void find_among_many(State& state) { run_among(state, "find", BENCH_MANY_TYPES); }
void typed_call_among_few(State& state) { run_among(state, "typed_call", ""); }
void typed_call_among_many(State& state) { run_among(state, "typed_call", BENCH_MANY_TYPES); }
void coverage_among_many(State& state) { run_among(state, "coverage", BENCH_MANY_TYPES); }
BENCHMARK(find_among_few)->UseManualTime()->Iterations(9);
BENCHMARK(find_among_many)->UseManualTime()->Iterations(9);
BENCHMARK(typed_call_among_few)->UseManualTime()->Iterations(9);
BENCHMARK(typed_call_among_many)->UseManualTime()->Iterations(9);
BENCHMARK(coverage_among_many)->UseManualTime()->Iterations(9);

}  // namespace
