// rms_norm against its formula, for rows of every length, and what is far from one.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "../compare.hpp"

using namespace compare;
using tenon::f32, tenon::f64;
namespace functional = tenon::nn::functional;

namespace {

struct Outcome {
  Tensor result, input, weight;
};
Outcome outcome_of(const Tensor& input, const Tensor& weight, DType dtype, bool formula,
                   const Tensor& gradient) {
  const auto leaf = [&](const Tensor& tensor) {
    return tensor.defined() ? tensor.to(dtype).detach().requires_grad_() : tensor;
  };
  Outcome o{{}, leaf(input), leaf(weight)};
  const int64_t n = input.size(-1);
  if (formula) {
    o.result = o.input * (o.input.square().mean({-1}, true) + 0.01).rsqrt();
    if (weight.defined()) o.result = o.result * o.weight;
  } else {
    o.result = functional::rms_norm(o.input, {n}, o.weight, 0.01);
  }
  o.result.backward(gradient.to(dtype));
  return o;
}

void check_near(const Tensor& found, const Tensor& expected, double tolerance) {
  REQUIRE(found.defined() == expected.defined());
  if (!found.defined()) return;
  REQUIRE(found.sizes() == expected.sizes());
  const auto a = found.to_vector<double>(), b = expected.to_vector<double>();
  double largest = 1, worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    worst = std::max(worst, std::abs(a[i] - b[i]));
  }
  CHECK(worst <= tolerance * largest);
}

}  // namespace

TEST_SUITE("nn/rms_norm") {
  TEST_CASE("results and gradients are those of the formula, for any number of threads") {
    std::mt19937_64 random(11);
    const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
    for (int round = 0; round < 80; ++round) {
      CAPTURE(round);
      const int64_t rows = 1 + below(round % 4 == 0 ? 900 : 9),
                    n = 1 + below(below(2) == 0 ? 9 : 400);
      Tensor input = numbers({rows, n}, f64, random());
      if (below(3) == 0) input = numbers({n, rows}, f64, random()).t();
      const Tensor weight = below(2) == 0 ? numbers({n}, f64, random()) : Tensor(),
                   gradient = numbers({rows, n}, f64, random());
      const Outcome expected = outcome_of(input, weight, f64, true, gradient);
      for (const DType dtype : {f64, f32}) {
        const double tolerance = dtype == f64 ? 1e-13 : 2e-5;
        tenon::set_thread_count(1);
        const Outcome one = outcome_of(input, weight, dtype, false, gradient);
        check_near(one.result.to(f64), expected.result, tolerance);
        check_near(one.input.grad().to(f64), expected.input.grad(), tolerance);
        if (weight.defined())
          check_near(one.weight.grad().to(f64), expected.weight.grad(), tolerance);
        tenon::set_thread_count(3);
        const Outcome three = outcome_of(input, weight, dtype, false, gradient);
        CHECK(three.result.to_vector<double>() == one.result.to_vector<double>());
        CHECK(three.input.grad().to_vector<double>() == one.input.grad().to_vector<double>());
        if (weight.defined())
          CHECK(three.weight.grad().to_vector<double>() == one.weight.grad().to_vector<double>());
        tenon::set_thread_count(0);
      }
    }
  }

  TEST_CASE("rows far from one, infinite and not a number") {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const double size : {1e-3, 1e18, 1e30, 3e38}) {
      CAPTURE(size);
      const Tensor x = (tenon::tensor({1.0, -0.5, 0.25, 1.0}, f64) * size).to(f32);
      const Tensor rows = x.reshape({1, 4}).requires_grad_();
      const Tensor y = functional::rms_norm(rows, {4}, {}, 0.0);
      check_values(y.detach(), {1, 4}, {1.3151919, -0.6575959, 0.328798, 1.3151919}, 1e-6);
      y.sum().backward();
      CHECK(rows.grad().isfinite().all().item<bool>());
    }
    const Tensor special = tenon::tensor({{1.0, infinity}, {1.0, std::nan("")}}, f64);
    const auto found = functional::rms_norm(special, {2}).to_vector<double>();
    CHECK(found[0] == 0);
    CHECK(std::isnan(found[1]));
    CHECK(std::isnan(found[2]));
    CHECK(std::isnan(found[3]));
  }
}
