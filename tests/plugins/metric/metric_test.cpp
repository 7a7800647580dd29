// Metrics, by numbers counted by hand and by a slow count.
#include "../compare.hpp"

using namespace compare;
using doctest::Approx;
namespace metric = tenon::metric;

namespace {

// 3 classes; the guesses are 0, 1, 1, 2, 0, 2.
Tensor scores() {
  return tenon::tensor({5.0, 1.0, 0.0, 0.0, 2.0, 1.0, 1.0, 3.0, 2.0, 0.0, 1.0, 4.0, 9.0, 8.0, 0.0,
                        0.0, 0.0, 1.0})
      .reshape({6, 3});
}
Tensor classes() {
  const std::vector<int64_t> truth = {0, 1, 2, 2, 1, 0};
  return tenon::from_range(truth.begin(), truth.end());
}

}  // namespace

TEST_SUITE("metric") {
  TEST_CASE("metrics of classes") {
    CHECK(metric::accuracy(scores(), classes()) == Approx(0.5));
    CHECK(metric::top_k(scores(), classes(), 1) == Approx(0.5));
    CHECK(metric::top_k(scores(), classes(), 2) == Approx(1));
    CHECK(metric::top_k(scores(), classes(), 3) == 1);
    check_values(metric::confusion_matrix(scores(), classes()), {3, 3},
                 {1, 0, 1, 1, 1, 0, 0, 1, 1});
    // All classes have 1 of 2 right, in guesses and in truth.
    for (const char* average : {"macro", "micro", "weighted"}) {
      CHECK(metric::precision(scores(), classes(), average) == Approx(0.5));
      CHECK(metric::recall(scores(), classes(), average) == Approx(0.5));
      CHECK(metric::f1(scores(), classes(), average) == Approx(0.5));
    }
  }

  TEST_CASE("averages of unequal classes are scikit-learn's") {
    const Tensor output = tenon::tensor({1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0}).reshape({4, 2});
    const std::vector<int64_t> truth = {0, 0, 1, 1};
    const Tensor target = tenon::from_range(truth.begin(), truth.end());
    CHECK(metric::precision(output, target) == Approx((2.0 / 3 + 1) / 2));
    CHECK(metric::recall(output, target) == Approx((1 + 0.5) / 2));
    CHECK(metric::f1(output, target) == Approx((0.8 + 2.0 / 3) / 2));
    CHECK(metric::f1(output, target, "micro") == Approx(0.75));
  }

  TEST_CASE("classes at several places of a sample count as those of so many samples") {
    for (const auto& inner : {std::vector<int64_t>{1}, {5}, {2, 3}}) {
      CAPTURE(inner.size());
      std::vector<int64_t> shape = {4, 3}, places = {4};
      shape.insert(shape.end(), inner.begin(), inner.end());
      places.insert(places.end(), inner.begin(), inner.end());
      const Tensor output = tenon::randn(shape), target = tenon::randint(0, 3, places);
      // The classes last, then every place as a row.
      const Tensor rows = output.movedim(1, -1).reshape({-1, 3}), classes = target.reshape({-1});
      CHECK(metric::accuracy(output, target) == metric::accuracy(rows, classes));
      CHECK(metric::top_k(output, target, 2) == metric::top_k(rows, classes, 2));
      CHECK(metric::f1(output, target) == metric::f1(rows, classes));
      CHECK(metric::confusion_matrix(output, target).to_vector<int64_t>() ==
            metric::confusion_matrix(rows, classes).to_vector<int64_t>());
    }
  }

  TEST_CASE("metrics of numbers") {
    const Tensor a = tenon::tensor({1.0, 2.0, 4.0, 5.0}), b = tenon::tensor({1.0, 3.0, 2.0, 6.0});
    CHECK(metric::mean_absolute_error(a, b) == Approx(1));
    CHECK(metric::root_mean_squared_error(a, b) == Approx(std::sqrt(1.5)));
    CHECK(metric::r2_score(a, b) == Approx(1 - 6.0 / 14));
    CHECK(metric::r2_score(b, b) == 1);
    CHECK(metric::r2_score(a, tenon::ones({4})) == 0);
  }

  TEST_CASE("metrics refuse what does not fit") {
    CHECK_THROWS_AS(metric::accuracy(tenon::ones({3, 1}), classes()), tenon::ValueError);
    CHECK_THROWS_AS(metric::accuracy(tenon::ones({6, 2}), classes()), tenon::IndexError);
    CHECK_THROWS_AS(metric::accuracy(tenon::ones({6, 3, 2}), classes()), tenon::ValueError);
    CHECK_THROWS_AS(metric::f1(scores(), classes(), "best"), tenon::ValueError);
    CHECK_THROWS_AS(metric::r2_score(tenon::ones({3}), tenon::ones({4})), tenon::ValueError);
  }
}
