// Zeros, NaN and infinities in products and in linalg: rules of the ops, whatever kernels the
// library picks. CTest runs these tests with each kernel of OpenBLAS that the processor can run.
#include <cmath>
#include <limits>
#include <random>

#include "../compare.hpp"

using namespace compare;
namespace linalg = tenon::linalg;
using tenon::c128, tenon::c64, tenon::f32, tenon::f64;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// Numbers with zeros, NaN and infinities among them.
Tensor spoiled(const std::vector<int64_t>& shape, DType dtype, std::mt19937_64& random) {
  std::vector<double> values;
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t kind = random() % 40;
    values.push_back(kind == 0   ? kNan
                     : kind == 1 ? inf
                     : kind == 2 ? -inf
                     : kind < 12 ? 0
                                 : static_cast<double>(random() % 9) - 4);
  }
  return tenon::from_range(values.begin(), values.end()).reshape(shape).to(dtype);
}

// Whole numbers: sums are exact in any order.
void check_product(const Tensor& found, const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>(),
                            z = found.to_vector<double>();
  const auto m = static_cast<size_t>(a.size(0)), k = static_cast<size_t>(a.size(1)),
             n = static_cast<size_t>(b.size(1));
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t p = 0; p < k; ++p) sum += x[i * k + p] * y[p * n + j];
      const double value = z[i * n + j];
      const bool same = std::isnan(sum) ? std::isnan(value) : value == sum;
      CAPTURE(i);
      CAPTURE(j);
      CAPTURE(sum);
      CAPTURE(value);
      if (!same) CHECK(same);
    }
  }
}

bool all_nan(const Tensor& x) { return x.isnan().all().item<bool>(); }

}  // namespace

TEST_SUITE("plugins/blas/special_values") {
  TEST_CASE("zero times NaN is NaN in every product of matrices, of any size") {
    std::mt19937_64 random(7);
    struct Size {
      int64_t m, k, n;
    };
    for (const Size& s : {Size{1, 1, 1}, Size{3, 5, 2}, Size{17, 9, 33}, Size{40, 70, 50},
                          Size{130, 20, 90}, Size{1, 300, 7}, Size{200, 30, 1}}) {
      for (const DType dtype : {f32, f64}) {
        CAPTURE(s.m);
        CAPTURE(s.n);
        const Tensor a = spoiled({s.m, s.k}, dtype, random), b = spoiled({s.k, s.n}, dtype, random);
        check_product(a.mm(b), a, b);
        check_product(a.t().contiguous().t().mm(b), a, b);
        check_product(a.mm(b.t().contiguous().t()), a, b);
        check_product(a.mv(b.select(1, 0)).unsqueeze(1), a, b.narrow(1, 0, 1));
        check_product(a.t().contiguous().t().mv(b.select(1, 0)).unsqueeze(1), a, b.narrow(1, 0, 1));
        check_product(a.select(0, 0).dot(b.select(1, 0)).reshape({1, 1}), a.narrow(0, 0, 1),
                      b.narrow(1, 0, 1));
      }
    }
  }

  TEST_CASE("with alpha 0 the product is not read, and with beta 0 the input is not") {
    for (const DType dtype : {f32, f64, c64, c128}) {
      for (const int64_t size : {2, 30, 100}) {
        CAPTURE(size);
        const Tensor ones = tenon::ones({size, size}, dtype);
        const Tensor bad = tenon::full({size, size}, kNan).to(dtype);
        const auto add = [](const Tensor& input, const Tensor& a, const Tensor& b, double beta,
                            double alpha) { return addmm(input, a, b, beta, alpha); };
        CHECK(tenon::equal(add(ones, bad, ones, 2, 0), ones * 2));
        CHECK(tenon::equal(add(ones, ones, bad, 1, 0), ones));
        CHECK(tenon::equal(add(bad, bad, bad, 0, 0), ones * 0));
        CHECK(tenon::equal(add(bad, ones, ones, 0, 1), ones * static_cast<double>(size)));
      }
    }
  }

  TEST_CASE("what addmm does not read has a gradient and a tangent of 0") {
    const Tensor bad = tenon::full({3, 3}, kNan, f64);
    std::vector<Tensor> in;
    for (int i = 0; i < 3; ++i) in.push_back(bad.clone().requires_grad_());
    const auto call = [](const std::vector<Tensor>& x) { return addmm(x[0], x[1], x[2], 0, 0); };
    for (const Tensor& gradient : tenon::gradients({call(in).sum()}, in))
      check_values(gradient.flatten(), {9}, std::vector<double>(9, 0));
    const tenon::DualLevel level;
    for (size_t side = 0; side < 3; ++side) {
      std::vector<Tensor> duals = {bad, bad, bad};
      duals[side] = make_dual(bad, tenon::ones_like(bad));
      check_values(unpack_dual(call(duals)).tangent.flatten(), {9}, std::vector<double>(9, 0));
    }
  }

  TEST_CASE("what is solved by a matrix that is not finite is NaN, and only that matrix's") {
    for (const DType dtype : {f32, f64, c64, c128}) {
      for (const int64_t n : {1, 2, 5, 70}) {
        for (const double bad : {kNan, inf}) {
          CAPTURE(n);
          const Tensor eye = tenon::eye(n).to(dtype);
          Tensor broken = eye.clone();
          broken.select(0, n - 1).select(0, 0).fill_(bad);
          const Tensor both = tenon::stack({eye, broken});
          const Tensor inverses = linalg::inv(both);
          CHECK(tenon::equal(inverses.select(0, 0), eye));
          CHECK(all_nan(inverses.select(0, 1)));
          CHECK(all_nan(linalg::det(both).select(0, 1)));
          CHECK(all_nan(std::get<1>(linalg::slogdet(both)).select(0, 1)));
          for (const int64_t columns : {1, 3, 20}) {
            const Tensor right = tenon::ones({2, n, columns}, dtype);
            const Tensor solved = linalg::solve(both, right);
            CHECK(tenon::equal(solved.select(0, 0), right.select(0, 0)));
            CHECK(all_nan(solved.select(0, 1)));
          }
        }
      }
    }
  }

  TEST_CASE("a right side that is not finite has NaN, and leaves the others alone") {
    for (const DType dtype : {f32, f64, c128}) {
      for (const int64_t n : {1, 4, 70}) {
        for (const int64_t columns : {2, 20}) {
          CAPTURE(n);
          CAPTURE(columns);
          Tensor right = tenon::ones({n, columns}, dtype);
          right.select(1, 1).select(0, 0).fill_(inf);
          const Tensor solved = linalg::solve(tenon::eye(n).to(dtype), right);
          CHECK(all_nan(solved.select(1, 1)));
          CHECK(tenon::equal(solved.select(1, 0), right.select(1, 0)));
        }
      }
    }
  }

  TEST_CASE("vectors of equal values have no gradient, however the loss weights them") {
    const Tensor equal = tenon::eye(3).to(f64);
    const Tensor turn = std::get<0>(linalg::qr(numbers({3, 3}, f64, 40)));
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      for (const Tensor& values :
           {equal, tenon::tensor({{2.0, 0.0, 0.0}, {0.0, 2.0, 0.0}, {0.0, 0.0, 5.0}}, f64)}) {
        // Rounded, so that equal values differ in their last digits.
        for (const Tensor& matrix : {values, turn.mm(values).mm(turn.t())}) {
          const Tensor a = matrix.detach().requires_grad_();
          const Tensor weights = numbers({3, 3}, f64, seed);
          CHECK(
              all_nan(tenon::gradients({(std::get<1>(linalg::eigh(a)) * weights).sum()}, {a})[0]));
          CHECK(all_nan(tenon::gradients({(std::get<0>(linalg::svd(a)) * weights).sum()}, {a})[0]));
          CHECK(all_nan(tenon::gradients({(std::get<2>(linalg::svd(a)) * weights).sum()}, {a})[0]));
          // A loss that depends on a subspace alone is not an exception.
          const Tensor v = std::get<1>(linalg::eigh(a)).narrow(1, 0, 2);
          CHECK(all_nan(tenon::gradients({(v.mm(v.t()) * weights).sum()}, {a})[0]));
          const tenon::DualLevel level;
          const auto dual = make_dual(a.detach(), weights + weights.t());
          const auto [l, vectors] = linalg::eigh(dual);
          CHECK(unpack_dual(l).tangent.isfinite().all().item<bool>());
          CHECK_FALSE(unpack_dual(vectors).tangent.isfinite().all().item<bool>());
        }
      }
    }
  }

  TEST_CASE("vectors beside equal values have gradients, if theirs are not used") {
    const Tensor a =
        tenon::tensor({{2.0, 0.0, 0.0}, {0.0, 2.0, 0.0}, {0.0, 0.0, 5.0}}, f64).requires_grad_();
    const Tensor weights = numbers({3}, f64, 3);
    const Tensor last = std::get<1>(linalg::eigh(a)).select(1, 2);
    CHECK(tenon::gradients({(last * weights).sum()}, {a})[0].isfinite().all().item<bool>());
    const Tensor first = std::get<0>(linalg::svd(a)).select(1, 0);
    CHECK(tenon::gradients({(first * weights).sum()}, {a})[0].isfinite().all().item<bool>());
    // Values that differ little, but by more than rounding, are not equal.
    const Tensor near =
        tenon::tensor({{1.0, 0.0, 0.0}, {0.0, 2e-9, 0.0}, {0.0, 0.0, 1e-9}}, f64).requires_grad_();
    for (const Tensor& vectors : {std::get<1>(linalg::eigh(near)), std::get<0>(linalg::svd(near))})
      CHECK(tenon::gradients({(vectors * numbers({3, 3}, f64, 6)).sum()}, {near})[0]
                .isfinite()
                .all()
                .item<bool>());
  }
}
