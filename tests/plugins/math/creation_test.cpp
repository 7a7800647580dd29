// Ops that create tensors: values, dtypes, random draws and refusals.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

namespace {

using namespace tenon;

constexpr double inf = std::numeric_limits<double>::infinity();

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments(const std::vector<double>& values) {
  Moments m;
  for (const double x : values) m.mean += x / static_cast<double>(values.size());
  for (const double x : values)
    m.variance += (x - m.mean) * (x - m.mean) / static_cast<double>(values.size());
  return m;
}

}  // namespace

TEST_SUITE("math creation") {
  TEST_CASE("tensors of one value, of every dtype and shape") {
    CHECK(zeros({2, 3}).to_vector<float>() == std::vector<float>(6, 0));
    CHECK(ones({3}, i16).to_vector<int16_t>() == std::vector<int16_t>(3, 1));
    CHECK(ones({2}, boolean).to_vector<bool>() == std::vector<bool>(2, true));
    CHECK(full({2}, 1.5).dtype() == f32);
    CHECK(full({2}, 7).dtype() == i64);
    CHECK(full({2}, true).dtype() == boolean);
    CHECK(full({}, 2.5, f64).item() == 2.5);
    CHECK(empty({4, 0}).sizes() == std::vector<int64_t>{4, 0});
    CHECK(empty({2}, u8).dtype() == u8);
    CHECK_THROWS_WITH_AS(zeros({2, -1}), doctest::Contains("-1"), ValueError);
  }

  TEST_CASE("tensors like another take its shape and dtype, but not its strides or history") {
    const Tensor model = ones({2, 3}, f64).requires_grad_().t();
    CHECK(zeros_like(model).sizes() == std::vector<int64_t>{3, 2});
    CHECK(zeros_like(model).dtype() == f64);
    CHECK(zeros_like(model).is_contiguous());
    CHECK_FALSE(ones_like(model).requires_grad());
    CHECK(ones_like(model, i32).to_vector<int32_t>() == std::vector<int32_t>(6, 1));
    CHECK(full_like(model, 4).to_vector<double>() == std::vector<double>(6, 4));
  }

  TEST_CASE("eye has ones on its diagonal, whatever its shape") {
    CHECK(eye(2).to_vector<float>() == std::vector<float>{1, 0, 0, 1});
    CHECK(eye(2, 3, i64).to_vector<int64_t>() == std::vector<int64_t>{1, 0, 0, 0, 1, 0});
    CHECK(eye(3, 2).to_vector<float>() == std::vector<float>{1, 0, 0, 1, 0, 0});
    CHECK(eye(0).sizes() == std::vector<int64_t>{0, 0});
    CHECK(eye(3, 0).numel() == 0);
    CHECK_THROWS_AS(eye(-1), ValueError);
  }

  TEST_CASE("arange counts up and down, in whole numbers and in fractions") {
    CHECK(arange(4).to_vector<int64_t>() == std::vector<int64_t>{0, 1, 2, 3});
    CHECK(arange(4).dtype() == i64);
    CHECK(arange(2, 9, 3).to_vector<int64_t>() == std::vector<int64_t>{2, 5, 8});
    CHECK(arange(2, 8, 3).to_vector<int64_t>() == std::vector<int64_t>{2, 5});
    CHECK(arange(3, -2, -2).to_vector<int64_t>() == std::vector<int64_t>{3, 1, -1});
    CHECK(arange(0, 1, 0.25).to_vector<float>() == std::vector<float>{0, 0.25f, 0.5f, 0.75f});
    CHECK(arange(2.5).to_vector<float>() == std::vector<float>{0, 1, 2});
    CHECK(arange(3, none, 1, f64).to_vector<double>() == std::vector<double>{0, 1, 2});
    CHECK(arange(0, 2, 0.5, i32).to_vector<int32_t>() == std::vector<int32_t>{0, 0, 1, 1});
    CHECK(arange(5, 5).numel() == 0);
    CHECK(arange(0).numel() == 0);
    constexpr int64_t low = std::numeric_limits<int64_t>::min(),
                      high = std::numeric_limits<int64_t>::max();
    CHECK(arange(low, high, int64_t{1} << 62).to_vector<int64_t>() ==
          std::vector<int64_t>{low, -(int64_t{1} << 62), 0, int64_t{1} << 62});
    CHECK_THROWS_WITH_AS(arange(0, 5, 0), doctest::Contains("the step must not be 0"), ValueError);
    CHECK_THROWS_WITH_AS(arange(0, 5, -1),
                         doctest::Contains("the step must lead from start to end"), ValueError);
    CHECK_THROWS_WITH_AS(arange(0, inf), doctest::Contains("must be finite"), ValueError);
    CHECK_THROWS_WITH_AS(arange(0, 1e300), doctest::Contains("too many elements"), ValueError);
  }

  TEST_CASE("linspace meets both ends exactly") {
    CHECK(linspace(0, 1, 5).to_vector<float>() == std::vector<float>{0, 0.25f, 0.5f, 0.75f, 1});
    CHECK(linspace(3, -3, 3).to_vector<float>() == std::vector<float>{3, 0, -3});
    CHECK(linspace(0.1, 0.7, 7, f64).to_vector<double>().back() == 0.7);
    CHECK(linspace(2, 9, 1).to_vector<float>() == std::vector<float>{2});
    CHECK(linspace(2, 9, 0).numel() == 0);
    CHECK(linspace(0, 10, 5, i64).to_vector<int64_t>() == std::vector<int64_t>{0, 2, 5, 7, 10});
    CHECK_THROWS_WITH_AS(linspace(0, 1, -1), doctest::Contains("-1"), ValueError);
  }

  TEST_CASE("a seed gives the same numbers again, at any thread count") {
    const int32_t before = thread_count();
    const auto draw = [](int32_t threads) {
      set_thread_count(threads);
      seed_generator(42);
      std::vector<double> all;
      for (const Tensor& t :
           {rand({100003}), randn({100003}), randn({70001}, f64), randint(-5, 5, {99991}),
            randperm(5000), empty({50, 900}).uniform_(-1, 1), empty({900, 50}).t().normal_(2, 3)}) {
        const std::vector<double> values = t.to_vector<double>();
        all.insert(all.end(), values.begin(), values.end());
      }
      return all;
    };
    const std::vector<double> alone = draw(1);
    CHECK(draw(1) == alone);
    CHECK(draw(2) == alone);
    CHECK(draw(5) == alone);
    set_thread_count(before);
    seed_generator(1);
    const std::vector<float> first = rand({10}).to_vector<float>();
    CHECK(rand({10}).to_vector<float>() != first);
    seed_generator(2);
    CHECK(rand({10}).to_vector<float>() != first);
  }

  TEST_CASE("uniform numbers fill their range evenly and never reach its end") {
    seed_generator(7);
    const std::vector<double> unit = rand({200000}).to_vector<double>();
    const Moments m = moments(unit);
    CHECK(m.mean == doctest::Approx(0.5).epsilon(0.01));
    CHECK(m.variance == doctest::Approx(1.0 / 12).epsilon(0.02));
    CHECK(*std::min_element(unit.begin(), unit.end()) >= 0);
    CHECK(*std::max_element(unit.begin(), unit.end()) < 1);
    // A narrow range, whose numbers would round up to its end.
    const double high = 1, low = 1 - 3e-8;
    for (const double x : empty({1000}).uniform_(low, high).to_vector<double>()) CHECK(x < high);
    CHECK(empty({3}).uniform_(2, 2).to_vector<float>() == std::vector<float>{2, 2, 2});
    CHECK_THROWS_WITH_AS(empty({3}).uniform_(2, 1), doctest::Contains("low <= high"), ValueError);
    CHECK_THROWS_WITH_AS(empty({3}, i64).uniform_(), doctest::Contains("i64"), TypeError);
    CHECK_THROWS_WITH_AS(rand({3}, i32), doctest::Contains("i32"), TypeError);
  }

  TEST_CASE("normal numbers have the mean, the deviation and the tails they should") {
    seed_generator(7);
    const std::vector<double> drawn = randn({400000}, f64).to_vector<double>();
    const Moments m = moments(drawn);
    CHECK(std::fabs(m.mean) < 0.01);
    CHECK(m.variance == doctest::Approx(1).epsilon(0.01));
    const auto beyond = [&](double limit) {
      return static_cast<double>(std::count_if(drawn.begin(), drawn.end(),
                                               [&](double x) { return std::fabs(x) > limit; })) /
             400000;
    };
    CHECK(beyond(1) == doctest::Approx(0.3173).epsilon(0.02));
    CHECK(beyond(2) == doctest::Approx(0.0455).epsilon(0.05));
    CHECK(beyond(3) == doctest::Approx(0.0027).epsilon(0.15));
    double product = 0;
    for (size_t i = 1; i < drawn.size(); ++i) product += drawn[i] * drawn[i - 1];
    CHECK(std::fabs(product / 400000) < 0.01);
    CHECK(moments(empty({100000}).normal_(3, 0.5).to_vector<double>()).mean ==
          doctest::Approx(3).epsilon(0.01));
    CHECK(empty({3}).normal_(4, 0).to_vector<float>() == std::vector<float>{4, 4, 4});
    CHECK(randn({0}).numel() == 0);
    CHECK(std::isfinite(randn({}).item()));
    CHECK_THROWS_WITH_AS(empty({3}).normal_(0, -1), doctest::Contains("-1"), ValueError);
  }

  TEST_CASE("randint draws every number of its range, evenly") {
    seed_generator(3);
    std::vector<int> counts(6, 0);
    for (const int64_t x : randint(-2, 4, {60000}).to_vector<int64_t>()) {
      REQUIRE(x >= -2);
      REQUIRE(x < 4);
      ++counts[static_cast<size_t>(x + 2)];
    }
    for (const int count : counts) CHECK(count == doctest::Approx(10000).epsilon(0.05));
    CHECK(randint(0, 2, {3}, u8).dtype() == u8);
    constexpr int64_t low = std::numeric_limits<int64_t>::min(),
                      high = std::numeric_limits<int64_t>::max();
    CHECK(randint(low, high, {5}).numel() == 5);
    CHECK_THROWS_WITH_AS(randint(3, 3, {2}), doctest::Contains("low < high"), ValueError);
  }

  TEST_CASE("randperm holds each number once, in an order that varies") {
    seed_generator(5);
    std::vector<int64_t> order = randperm(1000).to_vector<int64_t>();
    CHECK_FALSE(std::is_sorted(order.begin(), order.end()));
    CHECK(randperm(1000).to_vector<int64_t>() != order);
    std::sort(order.begin(), order.end());
    std::vector<int64_t> expected(1000);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(order == expected);
    CHECK(randperm(0).numel() == 0);
    CHECK(randperm(3, i32).dtype() == i32);
    CHECK_THROWS_WITH_AS(randperm(-1), doctest::Contains("-1"), ValueError);
  }
}
