// A program that makes one tensor, from its start to its end.
#include "bench.hpp"
#include "child.hpp"

namespace {

using bench::State;

void start_one_tensor(State& state) {
  double peak = 0;
  for (auto _ : state) {
    const bench::ChildResult child = bench::run_child({BENCH_START, "tensor"});
    state.SetIterationTime(child.seconds);
    peak = std::stod(child.output);
  }
  state.counters["peak_kib"] = peak;
}
void limit_start(State& state) {
  for (auto _ : state) state.SetIterationTime(bench::run_child({"/bin/true"}).seconds);
}
BENCHMARK(start_one_tensor)->UseManualTime()->Iterations(21);
BENCHMARK(limit_start)->UseManualTime()->Iterations(21);

}  // namespace
