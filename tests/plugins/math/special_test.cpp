// Functions of mathematical physics by their identities and known values; statistics of order; draws.
#include <algorithm>
#include <limits>

#include "../compare.hpp"

using namespace compare;
using tenon::Op;

namespace {

using Shape = std::vector<int64_t>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double nan_number = std::nan("");

Tensor points(double low, double high) { return tenon::linspace(low, high, 101, tenon::f64); }

}  // namespace

TEST_SUITE("math") {
  TEST_CASE("lgamma, digamma and polygamma obey their recurrences and known values") {
    const Tensor x = points(0.05, 30);
    check_close(lgamma(x + 1) - lgamma(x), x.log(), 1e-13);
    check_close(digamma(x + 1) - digamma(x), 1 / x, 1e-13);
    for (const int64_t n : {0, 1, 2, 5}) {
      CAPTURE(n);
      const double sign = n % 2 == 0 ? 1 : -1;
      const Tensor step =
          x.pow(static_cast<double>(-n - 1)) * (sign * std::tgamma(static_cast<double>(n + 1)));
      check_close(polygamma(n, x + 1) - polygamma(n, x), step, 1e-11);
      // Below 0 too, where reflection is.
      const Tensor below = points(-4.93, -0.07);
      const Tensor down =
          below.pow(static_cast<double>(-n - 1)) * (sign * std::tgamma(static_cast<double>(n + 1)));
      const Tensor left = polygamma(n, below), right = polygamma(n, below + 1);
      check_close((right - left - down) / (right.abs() + left.abs()), tenon::zeros_like(below),
                  1e-12);
    }
    const double euler = 0.57721566490153286061, pi = 3.14159265358979323846;
    const auto one = tenon::tensor({1.0}, tenon::f64);
    check_values(digamma(one), {1}, {-euler}, 1e-15);
    check_values(polygamma(1, one), {1}, {pi * pi / 6}, 1e-15);
    check_values(polygamma(2, one), {1}, {-2 * 1.20205690315959428540}, 1e-15);
    check_values(polygamma(1, one / 2), {1}, {pi * pi / 2}, 1e-15);
  }

  TEST_CASE("lgamma, digamma and polygamma at poles, infinities and NaN") {
    const Tensor x = tenon::tensor({0.0, -0.0, -2.0, kInfinity, nan_number}, tenon::f64);
    check_values(lgamma(x), {5}, {kInfinity, kInfinity, kInfinity, kInfinity, nan_number});
    check_values(digamma(x), {5}, {-kInfinity, kInfinity, nan_number, kInfinity, nan_number});
    check_values(polygamma(1, x), {5}, {kInfinity, kInfinity, kInfinity, 0, nan_number});
    CHECK(lgamma(tenon::tensor({3})).dtype() == tenon::f32);
    CHECK(polygamma(1, tenon::tensor({3})).dtype() == tenon::f32);
    CHECK(refusal_of("polygamma", [&] { polygamma(-1, x); }) == "n must be from 0 to 30, got -1");
    const auto recorded = tenon::tensor({2.0}, tenon::f64).requires_grad_();
    CHECK(refusal_of("polygamma", [&] { polygamma(30, recorded).backward(); }) ==
          "n 30 has no gradient, which is that of n 31: n is 30 at most");
  }

  TEST_CASE("i0 and i1 have the values of their integrals") {
    // The mean of exp(x cos t), and of it times cos t: exact for a periodic function.
    const int64_t count = 4000;
    const Tensor turn = tenon::arange(count).to(tenon::f64) * (2 * 3.14159265358979323846 / 4000);
    for (const double x : {0.0, 0.1, 1.0, 3.75, 9.0, 24.0, 24.9, 25.1, 60.0, -7.0}) {
      CAPTURE(x);
      const Tensor parts = (turn.cos() * x - std::fabs(x)).exp(),
                   at = tenon::full({1}, x, tenon::f64);
      const double size = std::exp(std::fabs(x));
      check_values(i0(at) / size, {1}, {parts.mean().item()}, 1e-14);
      check_values(i1(at) / size, {1}, {(parts * turn.cos()).mean().item()}, 1e-14);
    }
    check_values(
        i0(tenon::tensor({712.0, 800.0, nan_number, -kInfinity}, tenon::f64).narrow(0, 1, 3)), {3},
        {kInfinity, nan_number, kInfinity});
    CHECK(std::isfinite(i0(tenon::tensor({712.0}, tenon::f64)).item()));
    CHECK(i0(tenon::tensor(-1.5e308, tenon::f64)).item() == kInfinity);
    CHECK(i1(tenon::tensor(-1.5e308, tenon::f64)).item() == -kInfinity);
  }

  TEST_CASE("logit is the inverse of sigmoid, and accurate near 1/2") {
    const Tensor x = points(-30, 30);
    check_close(logit(x.sigmoid()).narrow(0, 0, 70), x.narrow(0, 0, 70), 1e-6);
    check_values(logit(tenon::tensor({0.5 + 0x1p-40, 0.0, 1.0, -0.1, nan_number}, tenon::f64)), {5},
                 {0x1p-38, -kInfinity, kInfinity, nan_number, nan_number}, 1e-18);
    check_values(logit(tenon::tensor({-1.0, 0.3, 2.0}, tenon::f64), 0.25), {3},
                 {-std::log(3.0), std::log(0.3 / 0.7), std::log(3.0)}, 1e-15);
    CHECK(refusal_of("logit", [&] { logit(x, 0.6); }) == "eps must be from 0 to 0.5, got 0.6");
  }

  TEST_CASE("kthvalue, nanmedian and mode choose the first of equal elements") {
    const Tensor x =
        tenon::tensor({3.0, 1.0, nan_number, 1.0, 2.0, 3.0}, tenon::f64).reshape({1, 6});
    const auto check = [](const std::tuple<Tensor, Tensor>& found, double value, double index) {
      check_values(std::get<0>(found), {1}, {value}, 0);
      check_values(std::get<1>(found), {1}, {index}, 0);
    };
    check(kthvalue(x, 2), 1, 1);
    check(kthvalue(x, 4), 3, 0);
    check(kthvalue(x, 6), nan_number, 2);
    check(nanmedian(x, 1), 2, 4);
    check(mode(x), 1, 1);
    check_values(std::get<0>(nanmedian(x)), {}, {2});
    check_values(std::get<0>(nanmedian(x, 0, true)), {1, 6}, {3, 1, nan_number, 1, 2, 3});
    check_values(std::get<1>(mode(tenon::tensor({5, 7, 7, 5, 9}, tenon::u8))), {}, {0});
    CHECK(std::get<0>(kthvalue(tenon::zeros({2, 3, 4}), 1, 1, true)).sizes() == Shape{2, 1, 4});
    for (uint64_t round = 0; round < 30; ++round) {
      const Tensor y = (numbers({4, 5}, tenon::f64, round) * 3).round();
      const Tensor sorted = std::get<0>(sort(y, 0));
      for (int64_t k = 1; k <= 4; ++k) {
        const auto [values, indices] = kthvalue(y, k, 0);
        check_close(values, sorted.select(0, k - 1), 0);
        check_close(y.gather(0, indices.unsqueeze(0)).squeeze(0), values, 0);
      }
      const auto [middle, at] = nanmedian(y, 1);
      check_close(middle, std::get<0>(median(y, 1)), 0);
      check_close(at, std::get<1>(median(y, 1)), 0);
    }
    CHECK(refusal_of("kthvalue", [&] { kthvalue(x, 7); }) == "k must be from 1 to 6, got 7");
    CHECK_THROWS_AS(nanmedian(tenon::zeros({0})), tenon::ValueError);
  }

  TEST_CASE("nanquantile is the quantile of the numbers alone") {
    const Tensor x =
        tenon::tensor({3.0, nan_number, 1.0, nan_number, nan_number, nan_number}, tenon::f64)
            .reshape({2, 3});
    check_values(nanquantile(x, 0.25, 1), {2}, {1.5, nan_number});
    check_values(nanquantile(x, 0.5), {}, {2});
    check_values(nanquantile(x, tenon::tensor({0.0, 1.0}, tenon::f64), 0, true), {2, 1, 3},
                 {3, nan_number, 1, 3, nan_number, 1});
    const Tensor y = numbers({4, 5}, tenon::f64);
    check_close(nanquantile(y, 0.3, 0), quantile(y, 0.3, 0), 0);
  }

  TEST_CASE("bernoulli and multinomial draw as often as probabilities say") {
    tenon::seed_generator(11);
    const Tensor p = tenon::tensor({0.0, 0.25, 1.0}, tenon::f64);
    check_close(bernoulli(p.expand({20000, 3})).mean(0), p, 0.02);
    CHECK(bernoulli(p, tenon::boolean).dtype() == tenon::boolean);
    CHECK_THROWS_AS(bernoulli(p + 0.5), tenon::ValueError);

    const Tensor weights = tenon::tensor({1.0, 0.0, 3.0, 4.0}, tenon::f64);
    const Tensor draws = multinomial(weights, 20000, true);
    check_close(one_hot(draws, 4).to(tenon::f64).mean(0), weights / 8, 0.02);
    // Without replacement: the first index as with it, and none twice.
    const Tensor rows = multinomial(weights.expand({20000, 4}), 3);
    check_close(one_hot(rows.select(1, 0), 4).to(tenon::f64).mean(0), weights / 8, 0.02);
    check_close(one_hot(rows, 4).sum(1), tenon::tensor({1, 0, 1, 1}).expand({20000, 4}), 0);
    CHECK(refusal_of("multinomial", [&] { multinomial(weights, 4); }) ==
          "a row has 3 weights above 0, too few to draw 4 without replacement");
    CHECK(refusal_of("multinomial", [&] { multinomial(weights, 5); }) ==
          "cannot draw 5 of 4 without replacement");
    CHECK_THROWS_AS(multinomial(-weights, 1), tenon::ValueError);
    CHECK_THROWS_AS(multinomial(weights * 0, 1), tenon::ValueError);
  }
}
