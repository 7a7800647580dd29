// Functions under vmap: what a batched call costs beside the call of the whole, and gradients of each sample
// beside a loop over samples.
#include <tenon/transforms/vmap.hpp>

#include "bench.hpp"

namespace {

using bench::State;
using tenon::Op;
using tenon::Tensor;
using tenon::transforms::lower;
using tenon::transforms::raise;

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

struct Network {
  std::vector<Tensor> weights{tenon::randn({128, 64}), tenon::randn({128}), tenon::randn({10, 128}),
                              tenon::randn({10})};
  Op linear{"nn.functional.linear"}, loss{"nn.functional.cross_entropy"};

  std::vector<Tensor> gradients(const Tensor& input, const Tensor& target) const {
    std::vector<Tensor> leaves, own;
    for (const Tensor& weight : weights) {
      leaves.push_back(lower(weight).detach().requires_grad_());
      own.push_back(raise(leaves.back()));
    }
    const Tensor hidden = tenon::tanh(linear.call<Tensor>(input, own[0], own[1]));
    const Tensor output = linear.call<Tensor>(hidden, own[2], own[3]);
    tenon::sum(lower(loss.call<Tensor>(output, target))).backward();
    std::vector<Tensor> results;
    for (const Tensor& leaf : leaves) results.push_back(raise(leaf.grad()));
    return results;
  }
};
void sample_gradients(State& state, bool batched) {
  const Network network;
  const Tensor input = tenon::randn({256, 64}), target = tenon::randint(0, 10, {256});
  const auto one = [&](const Tensor& x, const Tensor& t) { return network.gradients(x, t); };
  for (auto _ : state) {
    if (batched) {
      bench::keep(tenon::vmap(one)(input, target).front());
      continue;
    }
    for (int64_t i = 0; i < 256; ++i)
      bench::keep(one(tenon::select(input, 0, i), tenon::select(target, 0, i)).front());
  }
}
void sample_gradients_loop(State& state) { sample_gradients(state, false); }
void sample_gradients_vmap(State& state) { sample_gradients(state, true); }
BENCHMARK(sample_gradients_loop);
BENCHMARK(sample_gradients_vmap);

}  // namespace
