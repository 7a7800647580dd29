// Fourier transforms; NumPy's are beside them in numpy_peer.py.
#include "bench.hpp"

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::NoGrad;
using tenon::Op;
using tenon::Tensor;

void transform(State& state, const char* op, const Tensor& input) {
  const NoGrad no_grad;
  try {
    const Op call(op);
    keep(call.call<Tensor>(input));  // plans
    for (auto _ : state) keep(call.call<Tensor>(input));
  } catch (const tenon::Error& error) {  // the plugin is optional
    state.SkipWithError(error.what());
  }
}
Tensor complex_numbers(std::initializer_list<int64_t> shape) {
  return tenon::complex(numbers(shape), numbers(shape));
}

void fft_line(State& state) { transform(state, "fft.fft", complex_numbers({1 << 20})); }
void fft_real_line(State& state) { transform(state, "fft.rfft", numbers({1 << 20})); }
void fft_image(State& state) { transform(state, "fft.fft2", complex_numbers({1024, 1024})); }
void fft_batch(State& state) { transform(state, "fft.fft", complex_numbers({4096, 256})); }
BENCHMARK(fft_line)->UseRealTime();
BENCHMARK(fft_real_line)->UseRealTime();
BENCHMARK(fft_image)->UseRealTime();
BENCHMARK(fft_batch)->UseRealTime();

}  // namespace
