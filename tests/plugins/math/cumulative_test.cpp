// cumprod, logcumsumexp, cummax, cummin, nansum, nanmean, vector_norm, aminmax, diff and trapezoid
// against slow references.
#include <algorithm>
#include <limits>

#include "../random_inputs.hpp"

using namespace compare;
using namespace random_inputs;
using tenon::f32;
using tenon::f64;
using tenon::i64;
using tenon::none;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_SUITE("math cumulative") {
  TEST_CASE("cumulative ops give what a loop over each line gives") {
    Draw draw(1);
    for (int round = 0; round < 300; ++round) {
      const Sizes shape = draw.shape();
      const Tensor input = draw.tensor(shape, draw.dtype());
      const auto rank = static_cast<int64_t>(std::max<size_t>(1, shape.size()));
      const int64_t dim = draw.between(-rank, rank - 1);
      CAPTURE(input.text());
      CAPTURE(dim);
      const bool floating = tenon::is_floating(input.dtype());
      const Tensor product = cumprod(input, dim), log_sum = logcumsumexp(input, dim);
      const auto [largest, largest_at] = cummax(input, dim);
      const auto [smallest, smallest_at] = cummin(input, dim);
      REQUIRE(product.sizes() == shape);
      CHECK(product.dtype() == (floating ? input.dtype() : i64));
      CHECK(log_sum.dtype() == (floating ? input.dtype() : f32));
      CHECK(largest.dtype() == input.dtype());
      const LinesOf given(input, dim), products(product, dim), logs(log_sum, dim),
          most(largest, dim), most_at(largest_at, dim), least(smallest, dim),
          least_at(smallest_at, dim);
      const double tolerance = log_sum.dtype() == f32 ? 1e-5 : 1e-13;
      for (size_t l = 0; l < given.lines.size(); ++l) {
        const std::vector<double>& line = given.lines[l];
        double total = 1;
        size_t high = 0, low = 0;
        for (size_t i = 0; i < line.size(); ++i) {
          total *= line[i];
          double sum = 0, shift = -inf;
          for (size_t k = 0; k <= i; ++k)
            shift = line[k] != line[k] ? line[k] : std::fmax(shift, line[k]);
          for (size_t k = 0; k <= i; ++k) {
            if (line[k] != line[k]) sum = nan_number;
            sum += shift - shift == 0 ? std::exp(line[k] - shift) : 0;
          }
          const bool nan_so_far = sum != sum;
          const double expected = nan_so_far           ? nan_number
                                  : shift - shift == 0 ? shift + std::log(sum)
                                                       : shift;
          check_close({products.lines[l][i]}, {total}, tolerance);
          check_close({logs.lines[l][i]}, {expected}, tolerance);
          if (line[i] != line[i] || (line[high] == line[high] && line[i] >= line[high])) high = i;
          if (line[i] != line[i] || (line[low] == line[low] && line[i] <= line[low])) low = i;
          REQUIRE(same_number(most.lines[l][i], line[high]));
          REQUIRE(most_at.lines[l][i] == static_cast<double>(high));
          REQUIRE(same_number(least.lines[l][i], line[low]));
          REQUIRE(least_at.lines[l][i] == static_cast<double>(low));
        }
      }
    }
  }

  TEST_CASE("logcumsumexp has no overflow, and its gradient none either") {
    const Tensor x = tenon::tensor({1000.0, -1000.0, 1001.0, -inf}, f64).requires_grad_();
    const Tensor y = logcumsumexp(x, 0);
    check_close(y.to_vector<double>(),
                {1000, 1000, 1001 + std::log1p(std::exp(-1)), 1001 + std::log1p(std::exp(-1))},
                1e-14);
    y.sum().backward();
    const double share = 1 / (1 + std::exp(1));
    check_close(x.grad().to_vector<double>(), {2 + 2 * share, 0, 2 * (1 - share), 0}, 1e-13);
    const Tensor empty = tenon::tensor({-inf, -inf, 0.0}, f64).requires_grad_();
    logcumsumexp(empty, 0).sum().backward();
    check_close(empty.grad().to_vector<double>(), {0, 0, 1}, 0);
  }

  TEST_CASE("vector_norm is what its formula says, at any scale") {
    Draw draw(2);
    for (int round = 0; round < 200; ++round) {
      const Tensor input = draw.tensor(draw.shape(), draw.dtype(), draw.chance(20));
      const double ord = draw.of(std::vector<double>{2, 1, 0, inf, -inf, 3, 0.5, -1, 2.5});
      CAPTURE(input.text());
      CAPTURE(ord);
      std::vector<double> all = input.to_vector<double>();
      if (all.empty() && (ord < 0 || ord == inf)) {
        CHECK_THROWS_AS(vector_norm(input, ord), tenon::ValueError);
        continue;
      }
      double expected = ord == -inf ? inf : 0;
      bool has_nan = false;
      for (const double x : all) {
        has_nan = has_nan || x != x;
        const double size = std::fabs(x);
        if (std::fabs(ord) == inf)
          expected = ord > 0 ? std::fmax(expected, size) : std::fmin(expected, size);
        else
          expected += ord == 0 ? (x != 0 ? 1 : 0) : std::pow(size, ord);
      }
      if (std::fabs(ord) != inf && ord != 0) expected = std::pow(expected, 1 / ord);
      if (has_nan && ord != 0) expected = nan_number;
      const bool single = input.dtype() != f64;
      check_close({vector_norm(input, ord).item<double>()}, {expected}, single ? 1e-5 : 1e-12);
      check_close({tenon::norm(input, ord).item<double>()}, {expected}, single ? 1e-5 : 1e-12);
    }
    check_close({vector_norm(tenon::tensor({3e200, 4e200}, f64)).item<double>()}, {5e200}, 1e-14);
    CHECK(vector_norm(tenon::tensor({3e-200, 4e-200}, f64)).item<double>() ==
          doctest::Approx(5e-200));
    CHECK(vector_norm(tenon::tensor({3e30, 4e30}, f32)).item<float>() == doctest::Approx(5e30));
    CHECK(vector_norm(tenon::tensor({3e-30, 4e-30}, f32)).item<float>() == doctest::Approx(5e-30));
    for (const double ord : {0.5, 1.5, 2.0, 3.0, -1.0, -2.5}) {
      CAPTURE(ord);
      const auto norm_of = [&](const std::vector<double>& values) {
        return vector_norm(tenon::from_range(values.begin(), values.end()), ord).item<double>();
      };
      CHECK(norm_of({-inf, inf}) == inf);
      check_close({norm_of({inf, 1e200}) / 1e200}, {ord > 0 ? inf : 1}, 1e-14);
      check_close({norm_of({1e200, 1e-200}) / (ord > 0 ? 1e200 : 1e-200)}, {1}, 1e-14);
      CHECK(std::isnan(norm_of({inf, nan_number})));
      const auto gradient_of = [&](const std::vector<double>& values) {
        const Tensor x = tenon::from_range(values.begin(), values.end()).requires_grad_();
        vector_norm(x, ord).backward();
        return x.grad().to_vector<double>();
      };
      // Infinite elements share the gradient; beside them a finite one has none, or the whole.
      const double share = std::pow(2, 1 / ord - 1);
      check_close(gradient_of({-inf, inf}), {-share, share}, 1e-14);
      CHECK(gradient_of({-inf, 2}) ==
            (ord > 0 ? std::vector<double>{-1, 0} : std::vector<double>{0, 1}));
    }
    CHECK(vector_norm(tenon::tensor({3, 4})).dtype() == f32);
    CHECK(vector_norm(tenon::ones({2, 3}), 2, Sizes{1}, true, f64).dtype() == f64);
    CHECK(vector_norm(tenon::zeros({2, 0}), 2, Sizes{1}).to_vector<double>() ==
          std::vector<double>{0, 0});
    CHECK(refusal_of("vector_norm", [] { vector_norm(tenon::ones({2}), nan_number); }) ==
          "ord is NaN: choose a number, inf or -inf");
    CHECK_THROWS_AS(vector_norm(tenon::ones({2}), 2, none, false, i64), tenon::TypeError);
  }

  TEST_CASE("nansum and nanmean pass over NaN; aminmax, diff and trapezoid") {
    const Tensor x =
        tenon::tensor({{1.0, nan_number, 3.0}, {nan_number, nan_number, nan_number}}, f64);
    check_values(nansum(x, Sizes{1}), {2}, {4, 0});
    check_values(nanmean(x, Sizes{1}), {2}, {2, nan_number});
    check_values(nanmean(x), {}, {2});
    CHECK(nansum(tenon::tensor({true, true}, tenon::boolean)).item<int64_t>() == 2);
    CHECK(nanmean(tenon::tensor({1, 2})).item<float>() == 1.5f);
    const auto [least, most] = aminmax(tenon::tensor({{3, 1}, {2, 5}}), 0);
    check_values(least, {2}, {2, 1});
    check_values(most, {2}, {3, 5});

    check_values(diff(tenon::tensor({1, 4, 9, 16})), {3}, {3, 5, 7});
    check_values(diff(tenon::tensor({1, 4, 9, 16}), 2), {2}, {2, 2});
    CHECK(diff(tenon::tensor({1, 4}), 5).sizes() == Sizes{0});
    CHECK(diff(tenon::zeros({3, 0}), INT64_MAX).sizes() == Sizes{3, 0});
    check_values(diff(tenon::tensor({1, 4}), 0), {2}, {1, 4});
    check_values(diff(tenon::tensor({true, true, false}, tenon::boolean)), {2}, {0, 1});
    check_values(diff(tenon::tensor({2}), 1, 0, tenon::tensor({0}), tenon::tensor({7})), {2},
                 {2, 5});
    CHECK(refusal_of("diff", [] { diff(tenon::zeros({})); }) ==
          "a 0-dim tensor has no neighbours: give it a dimension");

    CHECK(trapezoid(tenon::tensor({1.0, 2.0, 3.0})).item<double>() == 4);
    CHECK(trapezoid(tenon::tensor({1, 2, 3}), none, 0.5).item<double>() == 2);
    check_values(trapezoid(tenon::ones({2, 3}), tenon::tensor({0.0, 1.0, 4.0})), {2}, {4, 4});
    check_values(trapezoid(tenon::ones({3, 2}), tenon::tensor({0.0, 1.0, 4.0}), 1, 0), {2}, {4, 4});
    check_values(trapezoid(tenon::ones({2, 1})), {2}, {0, 0});
    CHECK(refusal_of("trapezoid", [] {
            trapezoid(tenon::ones({2, 3}), tenon::ones({2}));
          }) == "x of shape [2] does not fit y of shape [2, 3]: give a vector of 3, or y's shape");
  }
}
