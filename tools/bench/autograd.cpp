// Custom Functions, the engine, and forward mode.
#include <algorithm>

#include "bench.hpp"

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using bench::Stopwatch;
using tenon::Op;
using tenon::Tensor;

void drop_gradient(Tensor leaf) { leaf.set_grad({}); }

// ---- Functions ----

void function_forward(State& state) {
  const Op op("bench.mul_constant");
  const Tensor x = numbers({1}, true);
  for (auto _ : state) keep(op.call<Tensor>(x, 5.0));
}
BENCHMARK(function_forward);

void function_forward_backward(State& state) {
  const Op op("bench.mul_constant");
  const Tensor x = numbers({1}, true), seed = numbers({1});
  for (auto _ : state) {
    op.call<Tensor>(x, 5.0).backward(seed);
    drop_gradient(x);
  }
}
BENCHMARK(function_forward_backward);

void linear_forward_backward(State& state) {
  const Op op("bench.linear_function");
  const Tensor input = numbers({32, 64}, true), weight = numbers({128, 64}, true),
               bias = numbers({128}, true), seed = numbers({32, 128});
  for (auto _ : state) {
    op.call<Tensor>(input, weight, bias).backward(seed);
    for (const Tensor& leaf : {input, weight, bias}) drop_gradient(leaf);
  }
}
BENCHMARK(linear_forward_backward);

// ---- the engine ----

void backward_one_node(State& state) {
  const Tensor a = numbers({1}, true), seed = numbers({1});
  for (auto _ : state) {
    const Tensor b = a * 5.0;
    const Stopwatch watch;
    b.backward(seed);
    state.SetIterationTime(watch.seconds());
    drop_gradient(a);
  }
}
BENCHMARK(backward_one_node)->UseManualTime();

// A chain of 10,000 ops: building it, going back through it, freeing it.
enum class Phase { build, backward, free };

template <class Step>
void run_chain(State& state, Phase phase, const Step& step) {
  const Tensor leaf = numbers({1}, true), seed = numbers({1});
  for (auto _ : state) {
    const Stopwatch build_watch;
    Tensor x = leaf;
    for (int i = 0; i < 10000; ++i) x = step(x);
    double seconds = build_watch.seconds();
    if (phase != Phase::build) {
      const Stopwatch backward_watch;
      x.backward(seed);
      seconds = backward_watch.seconds();
    }
    const Stopwatch free_watch;
    x = Tensor();
    if (phase == Phase::free) seconds = free_watch.seconds();
    drop_gradient(leaf);
    state.SetIterationTime(seconds);
  }
}
void chain_add(State& state, Phase phase) {
  const Tensor constant = numbers({1});
  run_chain(state, phase, [&](const Tensor& x) { return tenon::add(x, constant); });
}
void chain_mul(State& state, Phase phase) {
  run_chain(state, phase, [](const Tensor& x) { return tenon::mul(x, 1.0001); });
}
void chain_function(State& state, Phase phase) {
  const Op op("bench.mul_constant");
  run_chain(state, phase, [&](const Tensor& x) { return op.call<Tensor>(x, 1.0001); });
}
BENCHMARK_CAPTURE(chain_add, build, Phase::build)->UseManualTime();
BENCHMARK_CAPTURE(chain_add, backward, Phase::backward)->UseManualTime();
BENCHMARK_CAPTURE(chain_mul, build, Phase::build)->UseManualTime();
BENCHMARK_CAPTURE(chain_mul, backward, Phase::backward)->UseManualTime();
BENCHMARK_CAPTURE(chain_mul, free, Phase::free)->UseManualTime();
BENCHMARK_CAPTURE(chain_function, build, Phase::build)->UseManualTime();
BENCHMARK_CAPTURE(chain_function, backward, Phase::backward)->UseManualTime();

// ---- forward mode: 1 M elements ----

// The cost that a tangent for each operand adds to the call, next to the call without them.
template <class Call>
void run_forward_mode(State& state, bool tangents, const Call& call) {
  const tenon::DualLevel level;
  const Tensor a = numbers({1024, 1024}).abs() + 0.5, b = a + 1;
  const Tensor dual_a = make_dual(a, b), dual_b = make_dual(b, a);
  for (auto _ : state) {
    const Stopwatch plain_watch;
    keep(call(a, b));
    const double plain = plain_watch.seconds();
    if (!tangents) {
      state.SetIterationTime(plain);
      continue;
    }
    const Stopwatch dual_watch;
    keep(call(dual_a, dual_b));
    state.SetIterationTime(std::max(dual_watch.seconds() - plain, 0.0));
  }
}
Tensor tanh_of(const Tensor& a, const Tensor&) { return a.tanh(); }
Tensor exp_of(const Tensor& a, const Tensor&) { return a.exp(); }
Tensor sqrt_of(const Tensor& a, const Tensor&) { return a.sqrt(); }
Tensor sigmoid_of(const Tensor& a, const Tensor&) { return a.sigmoid(); }
Tensor relu_of(const Tensor& a, const Tensor&) { return a.relu(); }
Tensor sum_of(const Tensor& a, const Tensor&) { return a.sum(); }
Tensor softmax_of(const Tensor& a, const Tensor&) { return tenon::nn::functional::softmax(a, -1); }
Tensor add_number(const Tensor& a, const Tensor&) { return a + 2; }
Tensor mul_number(const Tensor& a, const Tensor&) { return a * 2; }
Tensor add_both(const Tensor& a, const Tensor& b) { return a + b; }
Tensor mul_both(const Tensor& a, const Tensor& b) { return a * b; }
Tensor div_both(const Tensor& a, const Tensor& b) { return a / b; }
void forward_mode(State& state, bool tangents, Tensor (*call)(const Tensor&, const Tensor&)) {
  run_forward_mode(state, tangents, call);
}
#define FORWARD_MODE(op)                                                    \
  BENCHMARK_CAPTURE(forward_mode, plain_##op, false, &op)->UseManualTime(); \
  BENCHMARK_CAPTURE(forward_mode, tangent_##op, true, &op)->UseManualTime()
FORWARD_MODE(add_number);
FORWARD_MODE(mul_number);
FORWARD_MODE(add_both);
FORWARD_MODE(mul_both);
FORWARD_MODE(div_both);
FORWARD_MODE(exp_of);
FORWARD_MODE(tanh_of);
FORWARD_MODE(sigmoid_of);
FORWARD_MODE(sqrt_of);
FORWARD_MODE(relu_of);
FORWARD_MODE(softmax_of);
FORWARD_MODE(sum_of);

}  // namespace
