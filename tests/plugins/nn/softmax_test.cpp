// softmax and log_softmax: values for every dimension and length, extremes, refusals.
#include <cmath>
#include <limits>

#include "../compare.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

Tensor naive(const Tensor& input, int64_t dim) {
  const Tensor x = input.to(tenon::f64);
  const Tensor power = (x - x.amax({dim}, true)).exp();
  return power / power.sum({dim}, true);
}

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("softmax and log_softmax agree with their definition along any dimension") {
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{1},
                                                                               {10},
                                                                               {17},
                                                                               {3, 1},
                                                                               {32, 10},
                                                                               {7, 100},
                                                                               {5, 2500},
                                                                               {3, 4, 5},
                                                                               {2, 33, 200},
                                                                               {2, 3, 1, 4}}) {
      for (const DType dtype : {tenon::f32, tenon::f64}) {
        const Tensor x = numbers(shape, dtype) * 20;
        for (int64_t dim = -static_cast<int64_t>(shape.size());
             dim < static_cast<int64_t>(shape.size()); ++dim) {
          CAPTURE(dim);
          const Tensor expected = naive(x, dim);
          const double tolerance = dtype == tenon::f32 ? 2e-6 : 1e-14;
          check_close(functional::softmax(x, dim), expected, tolerance);
          check_close(functional::log_softmax(x, dim), expected.log(),
                      dtype == tenon::f32 ? 1e-5 : 1e-13);
          const Tensor turned = x.transpose(0, -1);
          check_close(functional::softmax(turned, dim), naive(turned, dim), tolerance);
        }
      }
    }
  }

  TEST_CASE("softmax takes large numbers, infinities, NaN, scalars and nothing") {
    check_values(functional::softmax(tenon::tensor({1000.0, 1000.0}), 0), {2}, {0.5, 0.5});
    check_values(functional::log_softmax(tenon::tensor({-1e30, 1e30}), 0), {2}, {-2e30, 0});
    check_values(functional::softmax(tenon::tensor({-inf, 0.0}), 0), {2}, {0, 1});
    check_values(functional::softmax(tenon::tensor({1.0, kNan}), 0), {2}, {kNan, kNan});
    check_values(functional::softmax(tenon::tensor({-inf, -inf}), 0), {2}, {kNan, kNan});
    check_values(functional::softmax(tenon::full({}, 3.0), 0), {}, {1});
    CHECK(functional::softmax(tenon::zeros({0, 4}), 1).sizes() == std::vector<int64_t>{0, 4});
    CHECK(functional::log_softmax(tenon::zeros({4, 0}), 1).sizes() == std::vector<int64_t>{4, 0});
  }

  TEST_CASE("rows of lengths about whole registers, with what is not finite at each place") {
    for (const int64_t n : {63, 64, 65, 127, 128, 129, 191, 192, 200, 255, 1023, 1025}) {
      CAPTURE(n);
      for (const DType dtype : {tenon::f32, tenon::f64}) {
        const Tensor x = numbers({4, n}, dtype) * 30;
        check_close(functional::softmax(x, 1), naive(x, 1), dtype == tenon::f32 ? 2e-6 : 1e-14);
        check_close(functional::log_softmax(x, 1), naive(x, 1).log(),
                    dtype == tenon::f32 ? 1e-5 : 1e-13);
        for (const int64_t place : {int64_t{0}, n / 2, n - 1}) {
          const Tensor odd = x.clone();
          odd.select(0, 1).select(0, place).fill_(kNan);
          odd.select(0, 2).select(0, place).fill_(-inf);
          odd.select(0, 3).select(0, place).fill_(inf);
          const Tensor y = functional::softmax(odd, 1), logs = functional::log_softmax(odd, 1);
          check_close(y.select(0, 0), naive(x, 1).select(0, 0), 2e-6);
          for (const Tensor& result : {y, logs}) {
            CHECK(result.select(0, 1).isnan().all().item<bool>());
            CHECK(result.select(0, 3).isnan().any().item<bool>());
          }
          CHECK(y.select(0, 2).select(0, place).item() == 0);
          CHECK(logs.select(0, 2).select(0, place).item() == -inf);
          CHECK(y.select(0, 2).sum().item() == doctest::Approx(1));
        }
      }
    }
  }

  TEST_CASE("elements of rows of f32 are exact in relation to themselves, down to normal numbers") {
    constexpr double least = std::numeric_limits<float>::min();
    for (const int64_t n : {1, 16, 100, 127, 128, 129, 191, 192, 200, 1000, 5000}) {
      CAPTURE(n);
      Tensor x = numbers({9, n}, tenon::f32, static_cast<uint64_t>(n)) * 48;
      x = x - x.amax({1}, true);
      const auto found = functional::softmax(x, 1).to_vector<float>();
      const auto exact = naive(x, 1).to_vector<double>();
      size_t wrong = 0;
      for (size_t i = 0; i < exact.size(); ++i) {
        const double error = std::abs(static_cast<double>(found[i]) - exact[i]);
        if (!(error <= 1e-6 * exact[i] || (exact[i] < 2 * least && error <= 2 * least))) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }

  TEST_CASE("softmax refuses what does not fit") {
    CHECK_THROWS_AS(functional::softmax(tenon::zeros({2, 3}), 2), tenon::IndexError);
    CHECK(refusal([] { functional::softmax(tenon::zeros({2}, tenon::i64), 0); }) ==
          "softmax(): 'input' must be f32 or f64, got i64; convert it with to()");
    CHECK(refusal([] { functional::log_softmax(tenon::zeros({2}, tenon::boolean), 0); }) ==
          "log_softmax(): 'input' must be f32 or f64, got bool; convert it with to()");
  }
}
