// Factors of matrices next to direct calls of LAPACK, contractions next to the products that they
// amount to.
#include <algorithm>
#include <vector>

#include "bench.hpp"

extern "C" {
void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void dgetri_(const int*, double*, const int*, const int*, double*, const int*, int*);
void dgeqrf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);
void dorgqr_(const int*, const int*, const int*, double*, const int*, const double*, double*,
             const int*, int*);
void dsyevd_(const char*, const char*, const int*, double*, const int*, double*, double*,
             const int*, int*, const int*, int*, size_t, size_t);
}

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::NoGrad;
using tenon::Tensor;
namespace linalg = tenon::linalg;

constexpr int kSize = 512;
constexpr size_t kElements = size_t{kSize} * kSize;

// Far from singular, and symmetric.
Tensor matrix() {
  const Tensor x = numbers({kSize, kSize}).to(tenon::f64);
  return x + x.t() + tenon::eye(kSize, tenon::none, tenon::f64) * (4 * kSize);
}
using Numbers = std::vector<double>;
// `call` overwrites a copy of the matrix, and has a workspace.
template <class Call>
void direct(State& state, const Call& call) {
  const Numbers given = matrix().to_vector<double>();
  Numbers a(kElements), work(2 * kElements + size_t{64} * kSize);
  for (auto _ : state) {
    std::copy(given.begin(), given.end(), a.begin());
    call(a.data(), work.data(), static_cast<int>(work.size()));
    benchmark::ClobberMemory();
  }
}
template <class Call>
void repeat(State& state, const Call& call) {
  const NoGrad no_grad;
  const Tensor a = matrix();
  for (auto _ : state) call(a);
}

void limit_solve(State& state) {
  const Numbers given = matrix().to_vector<double>();
  Numbers b(kElements);
  std::vector<int> pivots(kSize);
  direct(state, [&](double* a, double*, int) {
    int info = 0;
    std::copy(given.begin(), given.end(), b.begin());
    dgesv_(&kSize, &kSize, a, &kSize, pivots.data(), b.data(), &kSize, &info);
  });
}
void limit_inv(State& state) {
  std::vector<int> pivots(kSize);
  direct(state, [&](double* a, double* work, int size) {
    int info = 0;
    dgetrf_(&kSize, &kSize, a, &kSize, pivots.data(), &info);
    dgetri_(&kSize, a, &kSize, pivots.data(), work, &size, &info);
  });
}
void limit_qr(State& state) {
  Numbers tau(kSize);
  direct(state, [&](double* a, double* work, int size) {
    int info = 0;
    dgeqrf_(&kSize, &kSize, a, &kSize, tau.data(), work, &size, &info);
    dorgqr_(&kSize, &kSize, &kSize, a, &kSize, tau.data(), work, &size, &info);
  });
}
void limit_eigh(State& state) {
  Numbers values(kSize);
  std::vector<int> integers(3 + 5 * kSize);
  direct(state, [&](double* a, double* work, int size) {
    int info = 0;
    const int most = 3 + 5 * kSize;
    dsyevd_("V", "L", &kSize, a, &kSize, values.data(), work, &size, integers.data(), &most, &info,
            1, 1);
  });
}
void solve(State& state) {
  const Tensor b = matrix();
  repeat(state, [&](const Tensor& a) { keep(linalg::solve(a, b)); });
}
void inv(State& state) {
  repeat(state, [](const Tensor& a) { keep(linalg::inv(a)); });
}
void qr(State& state) {
  repeat(state, [](const Tensor& a) { keep(std::get<0>(linalg::qr(a))); });
}
void eigh(State& state) {
  repeat(state, [](const Tensor& a) { keep(std::get<0>(linalg::eigh(a))); });
}
void svd(State& state) {
  repeat(state, [](const Tensor& a) { keep(std::get<1>(linalg::svd(a))); });
}
BENCHMARK(limit_solve)->UseRealTime();
BENCHMARK(limit_inv)->UseRealTime();
BENCHMARK(limit_qr)->UseRealTime();
BENCHMARK(limit_eigh)->UseRealTime();
BENCHMARK(solve)->UseRealTime();
BENCHMARK(inv)->UseRealTime();
BENCHMARK(qr)->UseRealTime();
BENCHMARK(eigh)->UseRealTime();
BENCHMARK(svd)->UseRealTime();

template <class Call>
void of_images(State& state, const Call& call) {
  const NoGrad no_grad;
  const Tensor a = numbers({16, 256, 256}), b = numbers({16, 256, 256});
  for (auto _ : state) keep(call(a, b));
}
void einsum_mm(State& state) {
  of_images(state, [](const Tensor& a, const Tensor& b) {
    return tenon::einsum("ij,jk->ik", {a.select(0, 0), b.select(0, 0)});
  });
}
void limit_einsum_mm(State& state) {
  of_images(state,
            [](const Tensor& a, const Tensor& b) { return a.select(0, 0).mm(b.select(0, 0)); });
}
void einsum_bmm(State& state) {
  of_images(state, [](const Tensor& a, const Tensor& b) {
    return tenon::einsum("bij,bjk->bik", {a, b});
  });
}
void limit_einsum_bmm(State& state) {
  of_images(state, [](const Tensor& a, const Tensor& b) { return a.bmm(b); });
}
void einsum_transposed(State& state) {
  of_images(state, [](const Tensor& a, const Tensor& b) {
    return tenon::einsum("bij,bkj->bik", {a, b});
  });
}
void limit_einsum_transposed(State& state) {
  of_images(state, [](const Tensor& a, const Tensor& b) { return a.bmm(b.transpose(1, 2)); });
}
BENCHMARK(einsum_mm)->UseRealTime();
BENCHMARK(limit_einsum_mm)->UseRealTime();
BENCHMARK(einsum_bmm)->UseRealTime();
BENCHMARK(limit_einsum_bmm)->UseRealTime();
BENCHMARK(einsum_transposed)->UseRealTime();
BENCHMARK(limit_einsum_transposed)->UseRealTime();

}  // namespace
