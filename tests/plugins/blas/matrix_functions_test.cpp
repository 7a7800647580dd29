// linalg.lu, eig, eigvals and matrix_exp by what their results multiply to; cov and corrcoef.
#include "../compare.hpp"

using namespace compare;
namespace linalg = tenon::linalg;

namespace {

using Shape = std::vector<int64_t>;

Tensor random(const Shape& shape, tenon::DType dtype, uint64_t seed) {
  if (!tenon::is_complex(dtype)) return numbers(shape, dtype, seed);
  return tenon::complex(numbers(shape, tenon::f64, seed), numbers(shape, tenon::f64, seed + 1000));
}
void check_same(const Tensor& found, const Tensor& expected, double tolerance = 1e-12) {
  if (!tenon::is_complex(found.dtype())) return check_close(found, expected, tolerance);
  check_close(tenon::real(found), tenon::real(expected), tolerance);
  check_close(tenon::imag(found), tenon::imag(expected), tolerance);
}

}  // namespace

TEST_SUITE("blas") {
  TEST_CASE("lu multiplies back to the matrix, with triangular factors and a permutation") {
    for (uint64_t round = 0; round < 40; ++round) {
      const int64_t m = static_cast<int64_t>(round % 5), n = static_cast<int64_t>(round / 5 % 5);
      const auto dtype = round % 2 == 0 ? tenon::f64 : tenon::c128;
      const Tensor a = random({2, m, n}, dtype, round);
      const auto [p, l, u] = linalg::lu(a);
      CAPTURE(m);
      CAPTURE(n);
      check_same(p.matmul(l).matmul(u), a);
      check_same(l.tril(), l, 0);
      check_same(u.triu(), u, 0);
      if (m == 0) continue;
      check_same(p.matmul(p.transpose(-2, -1)), tenon::eye(m).to(dtype).expand({2, m, m}), 0);
      // LAPACK compares complex pivots by the sum of the magnitudes of their parts.
      if (n != 0 && dtype == tenon::f64) CHECK(l.abs().amax().to(tenon::f64).item() <= 1 + 1e-12);
    }
    // A pivot of 0 is a part of U.
    const auto [p, l, u] = linalg::lu(tenon::zeros({2, 2}));
    check_values(u, {2, 2}, {0, 0, 0, 0});
  }

  TEST_CASE("eig has vectors of length 1 that the matrix multiplies by its values") {
    for (uint64_t round = 0; round < 20; ++round) {
      const int64_t n = static_cast<int64_t>(round % 5);
      const Tensor a = random({3, n, n}, round % 2 == 0 ? tenon::f64 : tenon::c128, round);
      const auto [values, vectors] = linalg::eig(a);
      CAPTURE(n);
      CHECK(values.dtype() == tenon::c128);
      check_same(a.to(tenon::c128).matmul(vectors), vectors * values.unsqueeze(-2), 1e-10);
      check_same(linalg::eigvals(a), values, 1e-9);
      check_close(vectors.abs().square().sum(-2), tenon::ones({3, n}, tenon::f64), 1e-12);
    }
    // A turn by 90 degrees has the eigenvalues i and -i.
    const Tensor turn = tenon::tensor({0.0, -1.0, 1.0, 0.0}).reshape({2, 2});
    CHECK(linalg::eigvals(turn).dtype() == tenon::c64);
    check_values(tenon::imag(linalg::eigvals(turn)).abs(), {2}, {1, 1});
    CHECK_THROWS_AS(linalg::eig(turn / 0.0), tenon::ValueError);
  }

  TEST_CASE("matrix_exp is the sum of its series, at any size") {
    for (uint64_t round = 0; round < 20; ++round) {
      const Tensor a = random({2, 3, 3}, round % 2 == 0 ? tenon::f64 : tenon::c128, round);
      Tensor sum = tenon::eye(3).to(a.dtype()).expand({2, 3, 3}), term = sum;
      for (int k = 1; k < 40; ++k) {
        term = term.matmul(a) / k;
        sum = sum + term;
      }
      check_same(linalg::matrix_exp(a), sum, 1e-13);
      const Tensor half = linalg::matrix_exp(a * 10);
      check_same(linalg::matrix_exp(a * 20) / half.abs().amax().square(),
                 half.matmul(half) / half.abs().amax().square(), 1e-10);
    }
    check_values(linalg::matrix_exp(tenon::zeros({2, 2})), {2, 2}, {1, 0, 0, 1});
    // Large elements beside the diagonal need no halving: nothing is squared.
    const double e = 2.71828182845904523536;
    const auto large = tenon::tensor({0.0, 1e10, 0.0, 0.0, 1.0, 1e10, 0.0, 2.0}, tenon::f64);
    check_values(linalg::matrix_exp(large.reshape({2, 2, 2})), {2, 2, 2},
                 {1, 1e10, 0, 1, e, 1e10 * (e * e - e), 0, e * e}, 2e-15);
    CHECK(linalg::matrix_exp(tenon::zeros({0, 0})).numel() == 0);
    CHECK_THROWS_AS(linalg::matrix_exp(tenon::ones({2, 3})), tenon::ValueError);
  }

  TEST_CASE("cov weighs observations, and corrcoef divides by both deviations") {
    const Tensor x = numbers({3, 6}, tenon::f64);
    const Tensor often = tenon::tensor({1, 2, 1, 3, 1, 2}, tenon::i64);
    // An observation that counts twice is there twice.
    check_close(tenon::cov(x, 1, often), tenon::cov(x.repeat_interleave(often, 1)), 1e-12);
    check_close(tenon::cov(x, 0, tenon::none, tenon::full({6}, 3.0, tenon::f64)), tenon::cov(x, 0),
                1e-12);
    check_close(tenon::cov(x).diagonal(), x.var(Shape{1}), 1e-12);
    check_close(tenon::cov(x.select(0, 1)), x.select(0, 1).var(), 1e-12);
    const Tensor deviation = tenon::cov(x).diagonal().pow(0.5);
    check_close(tenon::corrcoef(x), tenon::cov(x) / deviation / deviation.unsqueeze(1), 1e-12);
    const Tensor line = tenon::stack({x.select(0, 0), x.select(0, 0) * -2});
    check_values(tenon::corrcoef(line), {2, 2}, {1, -1, -1, 1}, 1e-12);
    CHECK(std::isnan(tenon::corrcoef(tenon::ones({2, 3})).select(0, 0).select(0, 0).item()));
    CHECK_THROWS_AS(tenon::cov(tenon::ones({1, 2, 3})), tenon::ValueError);
    CHECK(refusal_of("cov", [&] { tenon::cov(x, 1, -often); }) ==
          "'fweights' has a negative weight");
  }
}
