// The gradient checker: what it accepts, what it finds, and how it says so.
#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/gradcheck.hpp>
#include <tenon/tenon.hpp>

namespace {

using namespace tenon;

// `factor` times the gradient that x has by nature: a rule that is wrong on purpose, out of honest
// ops.
Tensor scaled_gradient(const Tensor& x, double factor) {
  return x * factor + x.detach() * (1 - factor);
}

std::string failure(const std::function<void()>& call) {
  try {
    call();
  } catch (const GradcheckError& error) {
    return error.what();
  }
  return "no GradcheckError";
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("gradcheck") {
  TEST_CASE("a right gradient passes, a wrong one is shown with both Jacobians") {
    const Tensor x = tensor({1.0, 2.0}, f64).requires_grad_();
    const auto cube = [](const Tensor& t) { return t * t * t; };
    CHECK(gradcheck(cube, {x}));
    CHECK(gradgradcheck(cube, {x}));
    const auto wrong = [](const Tensor& t) { return t * t * t.detach(); };
    const std::string text = failure([&] { gradcheck(wrong, {x}); });
    CHECK(
        contains(text,
                 "Jacobian mismatch for output 0 with respect to input 0,\n"
                 "numerical:tensor([[ 3.0000,  0.0000],\n        [ 0.0000, 12.0000]], dtype=f64)\n"
                 "analytical:tensor([[2., 0.],\n        [0., 8.]], dtype=f64)\n"));
    CHECK(text.rfind("Jacobian mismatch for output 0 with respect to input 0,\n", 0) == 0);
    CHECK(contains(text,
                   "2 of 4 entries differ; the worst:\n  d output[1] / d input[1]: numerical 12, "
                   "analytical 8, absolute error 4, relative error 0.333333"));
    CHECK(contains(text, "tenon::tensor({1, 2}, tenon::f64).requires_grad_()"));
    CHECK_FALSE(gradcheck(wrong, {x}, {.raise_exception = false}));
  }

  TEST_CASE("outputs and inputs are named by their positions") {
    const Tensor a = tensor({1.0, 2.0}, f64), b = tensor({3.0, 4.0}, f64).requires_grad_(),
                 c = tensor({5.0, 6.0}, f64).requires_grad_();
    const auto two = [](const std::vector<Tensor>& in) {
      return std::vector<Tensor>{in[0] * in[1], scaled_gradient(in[2], 0.5)};
    };
    CHECK(contains(failure([&] {
                     gradcheck(two, {a, b, c});
                   }),
                   "Jacobian mismatch for output 1 with respect to input 2,"));
  }

  TEST_CASE("functions of many forms are accepted") {
    const Tensor a = tensor({1.0, 2.0}, f64).requires_grad_(),
                 b = tensor({3.0, 4.0}, f64).requires_grad_();
    CHECK(gradcheck([](const Tensor& x, const Tensor& y) { return x * y; }, {a, b}));
    CHECK(gradcheck([](Tensor x, Tensor y) { return std::vector<Tensor>{x + y, x * y}; }, {a, b}));
    CHECK(gradcheck([](const Tensor& x) { return std::make_tuple(x * 2, x * x); }, {a}));
    CHECK(gradcheck([](const std::vector<Tensor>& in) { return in[0] * in[1]; }, {a, b}));
    CHECK(gradcheck(Op("mul"), {a, b}));
    CHECK(gradgradcheck(Op("mul"), {a, b}));
    CHECK_THROWS_WITH_AS(gradcheck([](const Tensor& x, const Tensor& y) { return x * y; }, {a}),
                         doctest::Contains("takes 2 tensors, but 1 inputs are given"),
                         ArgumentError);
    // Outputs that are no floating tensors are left out.
    CHECK(gradcheck([](const Tensor& x) { return x.max(0); }, {a}));
  }

  TEST_CASE("wrong use always throws") {
    const Tensor x = tensor({1.0, 2.0}, f64);
    const auto square = [](const Tensor& t) { return t * t; };
    const GradcheckOptions quiet{.raise_exception = false};
    CHECK_THROWS_WITH_AS(gradcheck(square, {x}, quiet),
                         doctest::Contains("gradcheck(): no input requires grad"), ArgumentError);
    CHECK_THROWS_WITH_AS(gradgradcheck(square, {x}, quiet),
                         doctest::Contains("no input requires grad"), ArgumentError);
    const Tensor repeated = tensor({1.0}, f64).expand({3}).detach().requires_grad_();
    CHECK_THROWS_WITH_AS(gradcheck(square, {repeated}, quiet),
                         doctest::Contains("dimension 0 of input 0 has stride 0"), ArgumentError);
  }

  TEST_CASE("the function's own exceptions pass unchanged") {
    const Tensor x = tensor({1.0}, f64).requires_grad_();
    const GradcheckOptions quiet{.raise_exception = false};
    const auto broken = [](const Tensor&) -> Tensor { throw std::logic_error("mine"); };
    CHECK_THROWS_WITH_AS(gradcheck(broken, {x}, quiet), "mine", std::logic_error);
    CHECK_THROWS_AS(gradcheck([](const Tensor& t) { return t.reshape({7}); }, {x}, quiet),
                    ValueError);
    CHECK_THROWS_AS(
        gradcheck([](const Tensor&) -> Tensor { throw GradcheckError("of the function"); }, {x},
                  quiet),
        GradcheckError);
  }

  TEST_CASE("an unrelated input has a gradient of zero") {
    const Tensor x = tensor({1.0, 2.0}, f64).requires_grad_(),
                 y = tensor({3.0}, f64).requires_grad_();
    const auto square = [](const Tensor& a, const Tensor&) { return a * a; };
    CHECK(gradcheck(square, {x, y}));
    CHECK(gradgradcheck(square, {x, y}));
    CHECK(gradcheck(square, {x, y}, {.check_forward_ad = true}));
  }

  TEST_CASE("inputs keep their values and their gradients") {
    const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}}, f64).requires_grad_();
    const std::vector<double> before = x.to_vector<double>();
    gradcheck([](const Tensor& t) { return t.t().exp(); }, {x});
    failure([&] { gradcheck([](const Tensor& t) { return scaled_gradient(t, 2); }, {x}); });
    CHECK_THROWS(gradcheck(
        [](const Tensor& t) -> Tensor {
          if (!GradMode::enabled()) throw std::logic_error("in the middle");
          return t * t;
        },
        {x}));
    CHECK(x.to_vector<double>() == before);
    CHECK_FALSE(x.grad().defined());
  }

  TEST_CASE("inputs of any layout are checked") {
    const Tensor x = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}, f64).t().detach().requires_grad_();
    CHECK_FALSE(x.is_contiguous());
    CHECK(gradcheck([](const Tensor& t) { return t * t; }, {x}, {.check_forward_ad = true}));
    const Tensor number = tensor(2.0, f64).requires_grad_(),
                 nothing = zeros({0, 2}, f64).requires_grad_();
    CHECK(gradcheck([](const Tensor& t) { return t.exp(); }, {number}));
    CHECK(gradcheck([](const Tensor& t) { return t.exp(); }, {nothing}));
  }

  TEST_CASE("the likely cause is told") {
    const Tensor x = tensor({1.0, 2.0}, f64).requires_grad_();
    CHECK(contains(failure([&] {
                     gradcheck([](const Tensor& t) { return scaled_gradient(t * t, 0.5); }, {x});
                   }),
                   "likely cause: the analytical gradient is 0.5 times the numerical one: a factor "
                   "is missing"));
    CHECK(contains(failure([&] {
                     gradcheck([](const Tensor& t) { return scaled_gradient(t * t, -1); }, {x});
                   }),
                   "likely cause: the analytical gradient has the wrong sign"));
    CHECK(contains(
        failure([&] { gradcheck([](const Tensor& t) { return scaled_gradient(t * t, 0); }, {x}); }),
        "likely cause: the analytical gradient is zero everywhere"));
    const Tensor kink = tensor({0.0, 1.0}, f64).requires_grad_();
    CHECK(contains(failure([&] { gradcheck([](const Tensor& t) { return t.relu(); }, {kink}); }),
                   "likely cause: the function is not smooth at input[0]"));
    int calls = 0;
    CHECK(contains(failure([&] {
                     gradcheck([&](const Tensor& t) { return t * t * (1 + 0.1 * ++calls); }, {x});
                   }),
                   "likely cause: the function gives different results for the same inputs"));
    const Tensor single = tensor({0.3, 0.7}).requires_grad_();
    CHECK(contains(failure([&] { gradcheck([](const Tensor& t) { return t.sin(); }, {single}); }),
                   "likely cause: the input is f32"));
    CHECK(gradcheck([](const Tensor& t) { return t.sin(); }, {single},
                    {.eps = 1e-3, .atol = 1e-3, .rtol = 1e-2}));
  }

  TEST_CASE("a function that cuts the graph is found") {
    const Tensor x = tensor({1.0, 2.0}, f64).requires_grad_();
    CHECK(contains(failure([&] { gradcheck([](const Tensor& t) { return t.detach() * 2; }, {x}); }),
                   "no output requires grad, but the numerical gradient is not zero"));
    CHECK(gradcheck([](const Tensor& t) { return zeros_like(t); }, {x}));
  }

  TEST_CASE("tolerances and steps are the caller's") {
    const Tensor x = tensor({1.0, 2.0}, f64).requires_grad_();
    const auto nearly = [](const Tensor& t) { return scaled_gradient(t, 1.01); };
    CHECK_FALSE(gradcheck(nearly, {x}, {.raise_exception = false}));
    CHECK(gradcheck(nearly, {x}, {.rtol = 0.1}));
    CHECK(gradcheck(nearly, {x}, {.atol = 0.1}));
    // Each direction can be left out.
    CHECK(gradcheck(nearly, {x}, {.check_undefined_grad = false, .check_backward_ad = false}));
    CHECK(gradcheck([](const Tensor& t) { return t * t; }, {x}, {.check_grad_dtypes = true}));
  }

  TEST_CASE("second order faults are found by gradgradcheck alone") {
    const Tensor x = tensor({1.0, 2.0}, f64).requires_grad_();
    // The first order is right, its graph is not: 2x enters as a constant.
    const auto half_wrong = [](const Tensor& t) {
      const Tensor slope = t.detach() * 2;
      return t * slope - t.detach() * t.detach();
    };
    CHECK(gradcheck(half_wrong, {x}));
    CHECK(contains(failure([&] { gradgradcheck(half_wrong, {x}); }),
                   "Jacobian mismatch for output 0 with respect to input 0,"));
    const std::vector<Tensor> seeds = {tensor({1.0, -1.0}, f64).requires_grad_()};
    CHECK(gradgradcheck([](const Tensor& t) { return t.exp(); }, {x}, {}, seeds));
  }

  TEST_CASE("reports are the same from run to run") {
    const Tensor x = tensor({1.0, 2.0}, f64).requires_grad_();
    const auto report = [&] {
      return failure([&] {
        gradgradcheck([](const Tensor& t) { return scaled_gradient(t * t * t, 0.5); }, {x});
      });
    };
    CHECK(report() == report());
  }
}
