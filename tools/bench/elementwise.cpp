// 16M elements, where memory is the limit: new results, given outputs, broadcast and transposed
// operands.
#include <tenon/kernel/isa.hpp>
#include <tenon/kernel/math.hpp>

#include "bench.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define BENCH_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define BENCH_WIDE __attribute__((noinline))
#endif
#if defined(__clang__)
#define BENCH_INDEPENDENT
#else
#define BENCH_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::NoGrad;
using tenon::Tensor;

constexpr int64_t side = 4096;
constexpr int64_t count = side * side;

// ---- limits: hand-written loops with ordinary stores ----

BENCH_WIDE void copy_loop(const float* a, float* out) {
  BENCH_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = a[i];
}
BENCH_WIDE void add_loop(const float* a, const float* b, float* out) {
  BENCH_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}
BENCH_WIDE void mul_loop(const float* a, const float* b, float* out) {
  BENCH_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = a[i] * b[i];
}
BENCH_WIDE void relu_loop(const float* a, float* out) {
  BENCH_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = a[i] < 0 ? 0 : a[i];
}
BENCH_WIDE void add_row_loop(const float* a, const float* b, float* out) {
  for (int64_t r = 0; r < side; ++r) {
    BENCH_INDEPENDENT
    for (int64_t c = 0; c < side; ++c) out[r * side + c] = a[r * side + c] + b[c];
  }
}
BENCH_WIDE void add_column_loop(const float* a, const float* b, float* out) {
  for (int64_t r = 0; r < side; ++r) {
    const float number = b[r];
    BENCH_INDEPENDENT
    for (int64_t c = 0; c < side; ++c) out[r * side + c] = a[r * side + c] + number;
  }
}
// The arithmetic of tanh and softplus in one pass.
struct MishLoop {
  TENON_INLINE static void run(const float* a, float* out) {
    TENON_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) {
      const float softplus = tenon::kernel::log1p(tenon::kernel::exp(a[i]));
      out[i] = a[i] * tenon::kernel::tanh(softplus);
    }
  }
};
// Reads everything once; the four lanes of 64 bytes hide the latency of addition.
BENCH_WIDE float read_loop(const float* a) {
  float lanes[64] = {};
  for (int64_t i = 0; i < count; i += 64) {
    for (int64_t k = 0; k < 64; ++k) lanes[k] += a[i + k];
  }
  float total = 0;
  for (const float lane : lanes) total += lane;
  return total;
}

template <class Loop>
void run_limit(State& state, const Loop& loop) {
  const Tensor a = numbers({count}), b = numbers({count}), out = numbers({count});
  for (auto _ : state) {
    loop(a.data<float>(), b.data<float>(), out.data<float>());
    benchmark::ClobberMemory();
  }
}
void limit_copy(State& state) {
  run_limit(state, [](const float* a, const float*, float* out) { copy_loop(a, out); });
}
void limit_add(State& state) { run_limit(state, add_loop); }
void limit_mul(State& state) { run_limit(state, mul_loop); }
void limit_relu(State& state) {
  run_limit(state, [](const float* a, const float*, float* out) { relu_loop(a, out); });
}
void limit_mish(State& state) {
  run_limit(state,
            [](const float* a, const float*, float* out) { tenon::kernel::run<MishLoop>(a, out); });
}
void limit_add_row(State& state) { run_limit(state, add_row_loop); }
void limit_add_column(State& state) { run_limit(state, add_column_loop); }
void limit_read(State& state) {
  const Tensor a = numbers({count});
  for (auto _ : state) benchmark::DoNotOptimize(read_loop(a.data<float>()));
}
BENCHMARK(limit_copy)->UseRealTime();
BENCHMARK(limit_add)->UseRealTime();
BENCHMARK(limit_mul)->UseRealTime();
BENCHMARK(limit_relu)->UseRealTime();
BENCHMARK(limit_mish)->UseRealTime();
BENCHMARK(limit_add_row)->UseRealTime();
BENCHMARK(limit_add_column)->UseRealTime();
BENCHMARK(limit_read)->UseRealTime();

// ---- ops ----

template <class Call>
void run_unary(State& state, const Call& call) {
  const NoGrad no_grad;
  const Tensor a = numbers({count}), out = numbers({count});
  for (auto _ : state) keep(call(a, out));
}
template <class Call>
void run_binary(State& state, const Tensor& a, const Tensor& b, const Call& call) {
  const NoGrad no_grad;
  const Tensor out = numbers({side, side});
  for (auto _ : state) keep(call(a, b, out));
}

#define BENCH_UNARY(op)                                                                     \
  void new_##op(State& state) {                                                             \
    run_unary(state, [](const Tensor& a, const Tensor&) { return tenon::op(a); });          \
  }                                                                                         \
  void out_##op(State& state) {                                                             \
    run_unary(state, [](const Tensor& a, const Tensor& out) { return tenon::op(a, out); }); \
  }                                                                                         \
  BENCHMARK(new_##op)->UseRealTime();                                                       \
  BENCHMARK(out_##op)->UseRealTime();
BENCH_UNARY(relu)
BENCH_UNARY(exp)
BENCH_UNARY(tanh)
BENCH_UNARY(sigmoid)

// One lambda, in a plugin.
void new_mish(State& state) {
  const tenon::Op mish("bench.mish");
  run_unary(state, [&](const Tensor& a, const Tensor&) { return mish.call<Tensor>(a); });
}
BENCHMARK(new_mish)->UseRealTime();

const auto add_new = [](const Tensor& a, const Tensor& b, const Tensor&) {
  return tenon::add(a, b);
};
const auto add_out = [](const Tensor& a, const Tensor& b, const Tensor& out) {
  return tenon::add(a, b, 1, out);
};
Tensor square() { return numbers({side, side}); }

void new_add(State& state) { run_binary(state, square(), square(), add_new); }
void out_add(State& state) { run_binary(state, square(), square(), add_out); }
void new_mul(State& state) {
  run_binary(state, square(), square(),
             [](const Tensor& a, const Tensor& b, const Tensor&) { return tenon::mul(a, b); });
}
void out_mul(State& state) {
  run_binary(state, square(), square(), [](const Tensor& a, const Tensor& b, const Tensor& out) {
    return tenon::mul(a, b, out);
  });
}
void out_add_row(State& state) { run_binary(state, square(), numbers({side}), add_out); }
void out_add_column(State& state) { run_binary(state, square(), numbers({side, 1}), add_out); }
void new_add_transposed(State& state) {
  run_binary(state, square().transpose(0, 1), square(), add_new);
}
void out_add_transposed(State& state) {
  run_binary(state, square().transpose(0, 1), square(), add_out);
}
BENCHMARK(new_add)->UseRealTime();
BENCHMARK(out_add)->UseRealTime();
BENCHMARK(new_mul)->UseRealTime();
BENCHMARK(out_mul)->UseRealTime();
BENCHMARK(out_add_row)->UseRealTime();
BENCHMARK(out_add_column)->UseRealTime();
BENCHMARK(new_add_transposed)->UseRealTime();
BENCHMARK(out_add_transposed)->UseRealTime();

// ---- reductions ----

template <class Call>
void run_reduction(State& state, const Call& call) {
  const NoGrad no_grad;
  const Tensor a = square();
  for (auto _ : state) keep(call(a));
}
void reduce_sum(State& state) {
  run_reduction(state, [](const Tensor& a) { return tenon::sum(a); });
}
void reduce_sum_columns(State& state) {
  run_reduction(state, [](const Tensor& a) { return tenon::sum(a, 0); });
}
void reduce_sum_rows(State& state) {
  run_reduction(state, [](const Tensor& a) { return tenon::sum(a, 1); });
}
void reduce_maximum(State& state) {
  run_reduction(state, [](const Tensor& a) { return tenon::amax(a); });
}
void reduce_maximum_rows(State& state) {
  run_reduction(state, [](const Tensor& a) { return tenon::amax(a, 1); });
}
BENCHMARK(reduce_sum)->UseRealTime();
BENCHMARK(reduce_sum_columns)->UseRealTime();
BENCHMARK(reduce_sum_rows)->UseRealTime();
BENCHMARK(reduce_maximum)->UseRealTime();
BENCHMARK(reduce_maximum_rows)->UseRealTime();

}  // namespace
