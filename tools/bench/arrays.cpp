// Sorting, searching, counting and picking in large arrays; NumPy's and PyTorch's are beside them in
// numpy_peer.py.
#include "bench.hpp"

namespace {

using bench::keep;
using bench::State;
using tenon::NoGrad;
using tenon::Tensor;

constexpr int64_t kCount = 1 << 24, kRows = 1 << 20;

// Between 0 and 1, all different or nearly.
Tensor drawn() {
  tenon::seed_generator(1);
  return tenon::rand({kCount});
}
Tensor places(std::initializer_list<int64_t> shape) {
  tenon::seed_generator(2);
  return tenon::randint(0, kRows,
                        tenon::IntList(shape.begin(), static_cast<int64_t>(shape.size())));
}

template <class Call>
void repeat(State& state, const Call& call) {
  const NoGrad no_grad;
  call();
  for (auto _ : state) call();
}

void sort_line(State& state) {
  const Tensor x = drawn();
  repeat(state, [&] { keep(std::get<0>(tenon::sort(x))); });
}
void topk_line(State& state) {
  const Tensor x = drawn();
  repeat(state, [&] { keep(std::get<0>(tenon::topk(x, 100))); });
}
void unique_line(State& state) {
  const Tensor x = drawn();
  repeat(state, [&] { keep(std::get<0>(tenon::unique(x))); });
}
void histc_line(State& state) {
  const Tensor x = drawn();
  repeat(state, [&] { keep(tenon::histc(x, 100, 0, 1)); });
}
void searchsorted_line(State& state) {
  const Tensor x = drawn(), sorted = std::get<0>(tenon::sort(x.narrow(0, 0, 1 << 16)));
  repeat(state, [&] { keep(tenon::searchsorted(sorted, x)); });
}
void cumsum_line(State& state) {
  const Tensor x = drawn();
  repeat(state, [&] { keep(tenon::cumsum(x, 0)); });
}
void nonzero_line(State& state) {
  const Tensor x = tenon::relu(drawn() - 0.5);
  repeat(state, [&] { keep(tenon::nonzero(x)); });
}
void index_select_rows(State& state) {
  const Tensor x = drawn().reshape({kRows, 16}), index = places({kRows});
  repeat(state, [&] { keep(tenon::index_select(x, 0, index)); });
}
void gather_rows(State& state) {
  const Tensor x = drawn().reshape({kRows, 16}), index = places({kRows, 16});
  repeat(state, [&] { keep(tenon::gather(x, 0, index)); });
}
BENCHMARK(sort_line)->UseRealTime();
BENCHMARK(topk_line)->UseRealTime();
BENCHMARK(unique_line)->UseRealTime();
BENCHMARK(histc_line)->UseRealTime();
BENCHMARK(searchsorted_line)->UseRealTime();
BENCHMARK(cumsum_line)->UseRealTime();
BENCHMARK(nonzero_line)->UseRealTime();
BENCHMARK(index_select_rows)->UseRealTime();
BENCHMARK(gather_rows)->UseRealTime();

}  // namespace
