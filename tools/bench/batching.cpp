// Functions under vmap: what a batched call costs beside the call of the whole, and gradients of each sample
// beside a loop over samples.
#include <tenon/transforms/grad.hpp>
#include <tenon/transforms/vmap.hpp>

#include "bench.hpp"

namespace {

using bench::State;
using tenon::Op;
using tenon::Tensor;

// ---- one call: at most 400 ns above the call of the whole ----

void add_of_whole(State& state) {
  const tenon::NoGrad no_grad;
  const Tensor a = tenon::randn({16, 1024}), b = tenon::randn({16, 1024});
  for (auto _ : state) bench::keep(tenon::add(a, b));
}
void run_batched(State& state, tenon::transforms::Randomness randomness) {
  const tenon::NoGrad no_grad;
  const Tensor a = tenon::randn({16, 1024}), b = tenon::randn({16, 1024});
  tenon::transforms::VmapOptions options;
  options.randomness = randomness;
  const auto repeated = [&](const Tensor& x, const Tensor& y) {
    for (auto _ : state) bench::keep(tenon::add(x, y));
    return x;
  };
  bench::keep(tenon::vmap(repeated, 0, 0, options)(a, b));
}
void batched_add(State& state) { run_batched(state, tenon::transforms::Randomness::error); }
void batched_add_same_random(State& state) {
  run_batched(state, tenon::transforms::Randomness::same);
}
BENCHMARK(add_of_whole);
BENCHMARK(batched_add);
BENCHMARK(batched_add_same_random);

// ---- gradients of each of 256 samples, 64-128-10: at most a tenth of the loop ----

// Both give the gradients of four parameters, each of all samples as one tensor.
void sample_gradients(State& state, bool batched) {
  static const Op linear("nn.functional.linear"), loss("nn.functional.cross_entropy");
  const Tensor w1 = tenon::randn({128, 64}), b1 = tenon::randn({128}), w2 = tenon::randn({10, 128}),
               b2 = tenon::randn({10});
  const Tensor input = tenon::randn({256, 64}), target = tenon::randint(0, 10, {256});
  const auto of_sample = [](const Tensor& w, const Tensor& b, const Tensor& v, const Tensor& c,
                            const Tensor& x, const Tensor& t) {
    const Tensor hidden = tenon::tanh(linear.call<Tensor>(x, w, b));
    return loss.call<Tensor>(linear.call<Tensor>(hidden, v, c), t);
  };
  const auto gradients = tenon::transforms::grad(of_sample, tenon::transforms::argnums<0, 1, 2, 3>);
  using tenon::none;
  for (auto _ : state) {
    if (batched) {
      bench::keep(std::get<0>(
          tenon::vmap(gradients, {none, none, none, none, 0, 0})(w1, b1, w2, b2, input, target)));
      continue;
    }
    std::vector<Tensor> samples[4];
    for (int64_t i = 0; i < 256; ++i) {
      auto [first, second, third, fourth] =
          gradients(w1, b1, w2, b2, tenon::select(input, 0, i), tenon::select(target, 0, i));
      samples[0].push_back(first);
      samples[1].push_back(second);
      samples[2].push_back(third);
      samples[3].push_back(fourth);
    }
    for (const std::vector<Tensor>& each : samples) bench::keep(tenon::stack(each, 0));
  }
}
void sample_gradients_loop(State& state) { sample_gradients(state, false); }
void sample_gradients_vmap(State& state) { sample_gradients(state, true); }
BENCHMARK(sample_gradients_loop);
BENCHMARK(sample_gradients_vmap);

}  // namespace
