// linalg: solve, inv, det, slogdet, cholesky and matrix_power against sums written out here, of random
// sizes, batches and layouts; singular matrices; refusals.
#include <limits>

#include "../compare.hpp"

using namespace compare;
namespace linalg = tenon::linalg;

namespace {

using Shape = std::vector<int64_t>;
constexpr double inf = std::numeric_limits<double>::infinity();

// One matrix of doubles.
struct Matrix {
  int64_t rows, columns;
  std::vector<double> at;
  double operator()(int64_t i, int64_t k) const { return at[static_cast<size_t>(i * columns + k)]; }
};
std::vector<Matrix> matrices_of(const Tensor& tensor) {
  const int64_t rows = tensor.size(-2), columns = tensor.size(-1), size = rows * columns;
  const std::vector<double> all = tensor.detach().to(tenon::f64).to_vector<double>();
  int64_t count = 1;
  for (int64_t i = 0; i + 2 < tensor.dim(); ++i) count *= tensor.size(i);
  std::vector<Matrix> list;
  for (int64_t i = 0; i < count; ++i)
    list.push_back({rows, columns, {all.begin() + i * size, all.begin() + (i + 1) * size}});
  return list;
}
Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c{a.rows, b.columns, {}};
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < b.columns; ++k) {
      double sum = 0;
      for (int64_t j = 0; j < a.columns; ++j) sum += a(i, j) * b(j, k);
      c.at.push_back(sum);
    }
  }
  return c;
}
Matrix identity(int64_t n) {
  Matrix c{n, n, {}};
  for (int64_t i = 0; i < n * n; ++i) c.at.push_back(i / n == i % n ? 1 : 0);
  return c;
}
// By the first row.
double determinant(const Matrix& a) {
  if (a.rows == 0) return 1;
  double sum = 0;
  for (int64_t skip = 0; skip < a.rows; ++skip) {
    Matrix minor{a.rows - 1, a.rows - 1, {}};
    for (int64_t i = 1; i < a.rows; ++i) {
      for (int64_t k = 0; k < a.rows; ++k) {
        if (k != skip) minor.at.push_back(a(i, k));
      }
    }
    sum += (skip % 2 == 0 ? 1 : -1) * a(0, skip) * determinant(minor);
  }
  return sum;
}

// Matrices that are far from singular, of a layout that depends on the seed.
Tensor regular(Shape shape, DType dtype, uint64_t seed) {
  const int64_t n = shape.back();
  const Tensor x = numbers(shape, dtype, seed) + tenon::eye(n).to(dtype) * 2.5;
  if (seed % 3 == 1) return x.transpose(-2, -1);
  if (seed % 3 == 2) return tenon::stack({x, x * 2}, -1).select(-1, 0);
  return x;
}
double tolerance(DType dtype) { return dtype == tenon::f32 ? 2e-4 : 1e-12; }

template <class Body>
void each_case(const Body& body) {
  uint64_t seed = 1;
  for (const DType dtype : {tenon::f32, tenon::f64}) {
    for (const int64_t n : {0, 1, 2, 3, 5}) {
      for (const Shape& batch : {Shape{}, Shape{3}, Shape{2, 1, 2}, Shape{0}}) {
        Shape shape = batch;
        shape.insert(shape.end(), {n, n});
        CAPTURE(shape);
        body(regular(shape, dtype, ++seed), batch, n);
      }
    }
  }
}

}  // namespace

TEST_SUITE("blas") {
  TEST_CASE("solve gives what multiplies to the right side, from either side") {
    each_case([](const Tensor& a, const Shape& batch, int64_t n) {
      const auto left = matrices_of(a);
      for (const int64_t k : {0, 1, 3}) {
        Shape shape = batch;
        shape.insert(shape.end(), {n, k});
        const Tensor b = numbers(shape, a.dtype(), 9);
        const Tensor x = linalg::solve(a, b), y = linalg::solve(a, b.transpose(-2, -1), false);
        CHECK(x.sizes() == shape);
        const auto found = matrices_of(x), turned = matrices_of(y), expected = matrices_of(b);
        for (size_t i = 0; i < left.size(); ++i) {
          check_close(product(left[i], found[i]).at, expected[i].at, tolerance(a.dtype()));
          check_close(product(turned[i], left[i]).at, matrices_of(b.transpose(-2, -1))[i].at,
                      tolerance(a.dtype()));
        }
      }
    });
  }

  TEST_CASE("many right sides are solved as one at a time is") {
    uint64_t seed = 1;
    for (const DType dtype : {tenon::f32, tenon::f64, tenon::c64, tenon::c128}) {
      const bool single = tenon::real_dtype(dtype) == tenon::f32;
      for (const int64_t n : {1, 2, 7, 40}) {
        for (const int64_t count : {16, 33}) {
          const Tensor parts = numbers({3, n, n, 2}, tenon::real_dtype(dtype), ++seed);
          const bool is_complex = tenon::is_complex(dtype);
          const Tensor a = (is_complex ? tenon::view_as_complex(parts) : parts.select(-1, 0)) +
                           tenon::eye(n, tenon::none, dtype).flip({0});  // rows change places
          // Right sides in another layout, one for all of the matrices.
          const Tensor b = numbers({count, n}, tenon::real_dtype(dtype), ++seed).to(dtype).t();
          const Tensor found = linalg::solve(a, b);
          REQUIRE(found.sizes() == Shape{3, n, count});
          const double limit = single ? 2e-2 : 1e-9;
          CHECK((a.matmul(found) - b).abs().amax().item() < limit);
          const Tensor one = linalg::solve(a, b.narrow(1, count - 1, 1));
          CHECK((found.narrow(2, count - 1, 1) - one).abs().amax().item() <
                limit * (1 + one.abs().amax().item()));
          CHECK((linalg::solve(a.select(0, 1), b) - found.select(0, 1)).abs().amax().item() <
                limit * (1 + one.abs().amax().item()));
        }
      }
    }
  }

  TEST_CASE("solve takes vectors, and broadcasts batches") {
    const Tensor a = regular({2, 3, 3}, tenon::f64, 4), one = regular({3, 3}, tenon::f64, 5);
    const Tensor v = numbers({3}, tenon::f64, 6), rows = numbers({2, 3}, tenon::f64, 7);
    check_close(linalg::solve(one, v), linalg::solve(one, v.unsqueeze(1)).squeeze(1), 1e-15);
    check_close(linalg::solve(a, v).select(0, 1), linalg::solve(a.select(0, 1), v), 1e-15);
    check_close(linalg::solve(a, rows).select(0, 1),
                linalg::solve(a.select(0, 1), rows.select(0, 1)), 1e-15);
    const Tensor b = numbers({4, 1, 3, 2}, tenon::f64, 8);
    const Tensor x = linalg::solve(a, b);
    CHECK(x.sizes() == Shape{4, 2, 3, 2});
    check_close(x.select(0, 2).select(0, 1),
                linalg::solve(a.select(0, 1), b.select(0, 2).select(0, 0)), 1e-15);
    const Tensor shared = linalg::solve(one, b);
    check_close(shared.select(0, 3).select(0, 0), linalg::solve(one, b.select(0, 3).select(0, 0)),
                1e-15);
  }

  TEST_CASE("inv, det and slogdet agree with their definitions") {
    each_case([](const Tensor& a, const Shape& batch, int64_t n) {
      const auto list = matrices_of(a), inverses = matrices_of(linalg::inv(a));
      CHECK(linalg::inv(a).sizes() == a.sizes());
      const Tensor det = linalg::det(a);
      const auto [sign, log] = linalg::slogdet(a);
      CHECK(det.sizes() == batch);
      CHECK(sign.sizes() == batch);
      const auto dets = det.to_vector<double>(), signs = sign.to_vector<double>(),
                 logs = log.to_vector<double>();
      for (size_t i = 0; i < list.size(); ++i) {
        check_close(product(list[i], inverses[i]).at, identity(n).at, tolerance(a.dtype()));
        const double expected = determinant(list[i]);
        check_close({dets[i], signs[i] * std::exp(logs[i])}, {expected, expected},
                    tolerance(a.dtype()));
      }
    });
  }

  TEST_CASE("determinants: singular, huge and not finite") {
    const Tensor singular = tenon::tensor({{1.0, 2.0}, {2.0, 4.0}}, tenon::f64);
    CHECK(linalg::det(singular).item() == 0);
    check_values(std::get<0>(linalg::slogdet(singular)), {}, {0});
    check_values(std::get<1>(linalg::slogdet(singular)), {}, {-inf});
    const Tensor wide = tenon::eye(40).to(tenon::f64) * 1e-20;
    CHECK(linalg::det(wide).item() == 0);
    CHECK(std::get<1>(linalg::slogdet(wide)).item<double>() ==
          doctest::Approx(40 * std::log(1e-20)));
    const Tensor mixed =
        tenon::tensor({{1e200, 0.0, 0.0}, {0.0, 1e200, 0.0}, {0.0, 0.0, 1e-200}}, tenon::f64);
    CHECK(linalg::det(mixed).item<double>() == doctest::Approx(1e200));
    CHECK(std::isnan(linalg::det(tenon::full({2, 2}, std::nan(""))).item<double>()));
  }

  TEST_CASE("the determinant of a singular matrix has a gradient: its cofactors") {
    Tensor a = tenon::tensor({{1.0, 2.0}, {2.0, 4.0}}, tenon::f64).requires_grad_();
    linalg::det(a).backward();
    check_values(a.grad(), {2, 2}, {4, -2, -2, 1});
    Tensor zero = tenon::zeros({3, 3}, tenon::f64).requires_grad_();
    linalg::det(zero).backward();
    check_values(zero.grad(), {3, 3}, std::vector<double>(9, 0));
    Tensor one = tenon::zeros({1, 1}, tenon::f64).requires_grad_();
    linalg::det(one).backward();
    check_values(one.grad(), {1, 1}, {1});
    const Tensor large = tenon::zeros({33, 33}, tenon::f64).requires_grad_();
    CHECK(refusal([&] {
            linalg::det(large).backward();
          }).find("the gradient at a singular matrix takes at most 32 rows") != std::string::npos);
  }

  TEST_CASE("cholesky gives a triangle whose square is the matrix") {
    each_case([](const Tensor& x, const Shape&, int64_t n) {
      const Tensor a = x.matmul(x.transpose(-2, -1)) + tenon::eye(n).to(x.dtype());
      const Tensor lower = linalg::cholesky(a), upper = linalg::cholesky(a, true);
      check_close(lower.transpose(-2, -1), upper, 0);
      check_close(lower.tril(), lower, 0);
      const auto expected = matrices_of(a), l = matrices_of(lower), u = matrices_of(upper);
      for (size_t i = 0; i < expected.size(); ++i)
        check_close(product(l[i], u[i]).at, expected[i].at, tolerance(a.dtype()));
    });
    // The symmetric half counts in a matrix that is not symmetric.
    const Tensor skew = tenon::tensor({{4.0, 3.0}, {1.0, 5.0}}, tenon::f64);
    check_values(linalg::cholesky(skew), {2, 2}, {2, 0, 1, 2});
  }

  TEST_CASE("matrix_power multiplies as often as it says") {
    each_case([](const Tensor& a, const Shape&, int64_t n) {
      const auto list = matrices_of(a), inverses = matrices_of(linalg::inv(a));
      for (const int64_t power : {-3, -1, 0, 1, 2, 5}) {
        const auto found = matrices_of(linalg::matrix_power(a, power));
        for (size_t i = 0; i < list.size(); ++i) {
          Matrix expected = identity(n);
          for (int64_t k = 0; k < std::abs(power); ++k)
            expected = product(expected, power < 0 ? inverses[i] : list[i]);
          check_close(found[i].at, expected.at, 10 * tolerance(a.dtype()));
        }
      }
    });
    const Tensor whole = linalg::matrix_power(tenon::tensor({{1, 1}, {1, 0}}), 10);
    CHECK(whole.dtype() == tenon::i64);
    check_values(whole, {2, 2}, {89, 55, 55, 34});
  }

  TEST_CASE("linalg refuses what it cannot factor, and says where") {
    const Tensor singular = tenon::tensor({{1.0, 2.0}, {2.0, 4.0}}, tenon::f64);
    CHECK(refusal([&] { linalg::inv(singular); }) ==
          "inv(): the matrix is singular: pivot 2 of 2 is 0");
    CHECK(refusal([&] {
            linalg::solve(tenon::stack({tenon::eye(2).to(tenon::f64), singular}),
                          tenon::ones({2, 2, 1}, tenon::f64));
          }) ==
          "solve(): the matrix is singular: pivot 2 of 2 is 0 (matrix 1 of the batch, from 0)");
    CHECK(refusal([&] { linalg::cholesky(singular - 2); }) ==
          "cholesky(): the matrix is not positive definite: pivot 1 of 2 is not above 0");
    CHECK(refusal([] {
            linalg::det(tenon::ones({2, 3}));
          }) == "det(): 'A' must be a square matrix or a batch of them, got shape [2, 3]");
    CHECK_THROWS_AS(linalg::inv(tenon::ones({3})), tenon::ValueError);
    CHECK_THROWS_AS(linalg::inv(tenon::ones({2, 2}, tenon::i64)), tenon::TypeError);
    CHECK_THROWS_AS(linalg::solve(singular, tenon::ones({2})), tenon::TypeError);
    CHECK(refusal([&] {
            linalg::solve(singular, tenon::ones({3, 2}, tenon::f64));
          }) == "solve(): 'A' of shape [2, 2] does not fit 'B' of shape [3, 2]");
    CHECK(refusal([&] { linalg::solve(singular, tenon::ones({2}, tenon::f64), false); }) ==
          "solve(): 'B' of shape [2] is vectors, which need left=True");
    CHECK_THROWS_AS(linalg::matrix_power(tenon::tensor({{1, 1}, {1, 0}}), -1), tenon::TypeError);
    CHECK_THROWS_AS(linalg::matrix_power(tenon::ones({2, 3}), 2), tenon::ValueError);
  }
}
