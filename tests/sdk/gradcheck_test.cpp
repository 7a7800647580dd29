// The gradient checker: what it accepts, what it finds, and how it says so.
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/gradcheck.hpp>
#include <tenon/tenon.hpp>

#include "tests/sdk/functions.hpp"
#include "tests/support/logged.hpp"

namespace {

using namespace tenon;
using tenon_test::logged;

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
// An op of the plugin whose gradient rules are wrong.
Op broken(const std::string& name) {
  load_plugin(TENON_FIXTURES "/broken/broken_gradients.so");
  return Op("broken." + name);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("gradcheck") {
  TEST_CASE("GC-01 F-065 a right gradient passes, a wrong one is shown with both Jacobians") {
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
    // Outputs that are not floating tensors are left out.
    CHECK(gradcheck([](const Tensor& x) { return x.max(0); }, {a}));
  }

  TEST_CASE("GC-06 wrong use always throws") {
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

  TEST_CASE("GC-09 the function's own exceptions pass unchanged") {
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

  TEST_CASE("GC-10 an unrelated input has a gradient of zero") {
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

  TEST_CASE("the likely cause is reported") {
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
    CHECK(gradcheck(
        [](const Tensor& t) { return t * t; }, {x},
        {.check_undefined_grad = false, .check_forward_ad = true, .check_backward_ad = false}));
    CHECK(gradcheck([](const Tensor& t) { return t * t; }, {x}, {.check_grad_dtypes = true}));
  }

  TEST_CASE("F-067 second order faults are found by gradgradcheck alone") {
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

  TEST_CASE("each option does what it says") {
    const Tensor x = tensor({1.0, 2.0}, f64).requires_grad_();
    const auto square = [](const Tensor& t) { return t * t; };
    const auto cube = [](const Tensor& t) { return t * t * t; };
    // eps: differences of a cube over a wide step are off by its square.
    CHECK_FALSE(gradcheck(cube, {x}, {.eps = 0.1, .raise_exception = false}));
    CHECK(gradcheck(cube, {x}, {.eps = 0.1, .rtol = 0.02}));

    // nondet_tol: a backward that gives something else each time.
    int runs = 0;
    const auto wavering = [&runs](const Tensor& t) {
      const Tensor result = t * t;
      return result + (t * 0) * (1e-7 * ++runs);
    };
    CHECK(gradcheck(wavering, {x}, {.nondet_tol = 1e-3}));

    // check_undefined_grad: a backward that adds something.
    const Op adds = broken("adds_to_gradient");
    CHECK(contains(failure([&] { gradcheck(adds, {x}, {.atol = 2}); }),
                   "gradients of zero must give zero, but input 0 got 1"));
    CHECK(gradcheck(adds, {x}, {.atol = 2, .check_undefined_grad = false}));

    CHECK_THROWS_WITH_AS(gradcheck(square, {x}, {.check_batched_grad = true}),
                         doctest::Contains("ops have no batching rules"), ArgumentError);

    // check_forward_ad and check_backward_ad: each direction alone.
    const Op tangent = broken("wrong_tangent");
    CHECK(gradcheck(tangent, {x}));
    CHECK(contains(failure([&] { gradcheck(tangent, {x}, {.check_forward_ad = true}); }),
                   "Jacobian computed with forward mode mismatch for output 0 with respect to "
                   "input 0,"));
    CHECK(gradcheck(square, {x}, {.check_forward_ad = true, .check_backward_ad = false}));
  }

  TEST_CASE("a backward that is not reentrant is reported, within nondet_tol it passes") {
    const Tensor x = tensor({1.0, 2.0}, f64).requires_grad_();
    const Op wavers = broken("wavering_gradient");
    CHECK(contains(failure([&] { gradcheck(wavers, {x}); }),
                   "Backward is not reentrant: run twice with the same gradient of output 0"));
    CHECK(gradcheck(wavers, {x}, {.nondet_tol = 1e-6}));
  }

  TEST_CASE("fast mode finds what the full form finds, and reports like it") {
    const Tensor x = rand({40, 30}, f64).requires_grad_(), y = rand({30, 20}, f64).requires_grad_();
    const auto product = [](const Tensor& a, const Tensor& b) { return mm(a, b); };
    GradcheckOptions fast;
    fast.fast_mode = true;
    fast.check_forward_ad = true;
    CHECK(gradcheck(product, {x, y}, fast));
    CHECK(gradgradcheck(product, {x, y}, fast));
    const Tensor small = tensor({1.0, 2.0}, f64).requires_grad_();
    const auto wrong = [](const Tensor& t) { return scaled_gradient(t * t, 0.5); };
    CHECK(failure([&] { gradcheck(wrong, {small}, fast); }) ==
          failure([&] { gradcheck(wrong, {small}, {.check_forward_ad = true}); }));
    CHECK(contains(
        failure([&] { gradcheck([](const Tensor& t) { return t.detach() * 2; }, {small}, fast); }),
        "no output requires grad"));
    CHECK_FALSE(gradcheck(broken("wavering_gradient"), {small},
                          {.raise_exception = false, .fast_mode = true}));
    // One entry of a large Jacobian is enough.
    const Tensor large = rand({30, 30}, f64).requires_grad_();
    const Tensor mask = ones({30, 30}, f64);
    mask.data<double>()[471] = 0;
    int calls = 0;
    const auto one_wrong = [&](const Tensor& t) {
      ++calls;
      return (t * mask + t.detach() * (1 - mask)).sum();
    };
    CHECK(gradcheck([](const Tensor& t) { return t.sum(); }, {large}, {.fast_mode = true}));
    CHECK_FALSE(gradcheck(one_wrong, {large}, {.raise_exception = false, .fast_mode = true}));
    CHECK(calls > 3);
  }

  TEST_CASE("fast mode asks for a handful of calls, however large the input") {
    const Tensor large = rand({100, 100}, f64).requires_grad_();
    int calls = 0;
    CHECK(gradcheck(
        [&calls](const Tensor& t) {
          ++calls;
          return t.exp();
        },
        {large}, {.fast_mode = true}));
    CHECK(calls == 3);
  }

  TEST_CASE("transposed and single precision results are reported as such") {
    const Tensor m = tensor({{1.0, 2.0}, {3.0, 5.0}}, f64), x = tensor({1.0, 2.0}, f64);
    // The value of m x, the gradient of transposed m x.
    const auto transposed = [&m](const Tensor& t) {
      const Tensor right = mv(m.t(), t);
      return right + (mv(m, t.detach()) - right.detach());
    };
    CHECK(contains(failure([&] { gradcheck(transposed, {Tensor(x).requires_grad_()}); }),
                   "likely cause: the analytical gradient is the transpose of the numerical one"));
    const Tensor leaf = tensor({1.3, 2.7}, f64).requires_grad_();
    CHECK(contains(failure([&] { gradcheck([](const Tensor& t) { return t.to(f32); }, {leaf}); }),
                   "likely cause: the output is f32"));
  }

  TEST_CASE("doubtful inputs are warned of") {
    const auto square = [](const Tensor& t) { return t * t; };
    const Tensor single = tensor({0.5, 1.5}).requires_grad_();
    CHECK(contains(logged([&] { gradcheck(square, {single}, {.eps = 1e-3, .atol = 1e-2}); }),
                   "gradcheck(): input 0 is f32; differences are reliable in f64 only"));
    const Tensor storage = tensor({1.0, 2.0, 3.0}, f64);
    const Tensor windows = storage.as_strided({2, 2}, {1, 1}).detach().requires_grad_();
    std::string text;
    CHECK(contains(logged([&] { text = failure([&] { gradcheck(square, {windows}); }); }),
                   "gradcheck(): elements of input 0 share their memory"));
    CHECK(contains(text, "Jacobian mismatch"));
    CHECK(
        logged([&] {
          gradcheck(square, {tensor({{1.0, 2.0}, {3.0, 4.0}}, f64).t().detach().requires_grad_()});
        }).empty());
  }

  TEST_CASE("a report ends in code that reproduces it") {
    const Tensor x = tensor({1.0, 2.0}, f64).requires_grad_();
    CHECK(contains(failure([&] { gradcheck(broken("adds_to_gradient"), {x}); }),
                   "\nto reproduce:\n  tenon::gradcheck(tenon::Op(\"broken.adds_to_gradient\"), {\n"
                   "      tenon::tensor({1, 2}, tenon::f64).requires_grad_()});"));
    const std::string second = failure([&] {
      gradgradcheck([](const Tensor& t) { return t * t.detach() * t; }, {x}, {},
                    {tensor({1.0, -1.0}, f64).requires_grad_()});
    });
    CHECK(contains(second,
                   "tenon::gradgradcheck(function, {\n      tenon::tensor({1, 2}, tenon::f64)"
                   ".requires_grad_()}, {}, {\n      tenon::tensor({1, -1}, "
                   "tenon::f64).requires_grad_()});"));
  }

  TEST_CASE("every call returns outputs like the first") {
    const Tensor x = tensor({1.0, 2.0}, f64).requires_grad_();
    const auto changing = [](auto later) {
      auto calls = std::make_shared<int>(0);
      return [later, calls](const Tensor& t) -> std::vector<Tensor> {
        return (*calls)++ == 0 ? std::vector<Tensor>{t * t, t * 2} : later(t);
      };
    };
    using List = std::vector<Tensor>;
    for (const bool fast : {false, true}) {
      for (const bool forward : {false, true}) {
        const GradcheckOptions options{.check_forward_ad = forward, .fast_mode = fast};
        CHECK(contains(failure([&] {
                         gradcheck(changing([](const Tensor& t) { return List{t * t}; }), {x},
                                   options);
                       }),
                       "the function returned 2 outputs at first and 1 when it was called again"));
        CHECK(contains(
            failure([&] {
              gradcheck(changing([](const Tensor& t) { return List{t, t, t}; }), {x}, options);
            }),
            "returned 2 outputs at first and 3"));
        CHECK(contains(failure([&] {
                         gradcheck(changing([](const Tensor& t) {
                                     return List{cat({t * t, t}), t * 2};
                                   }),
                                   {x}, options);
                       }),
                       "output 0 was f64[2] at first and f64[4] when"));
        CHECK(contains(failure([&] {
                         gradcheck(changing([](const Tensor& t) {
                                     return List{t * t, (t * 2).to(f32)};
                                   }),
                                   {x}, options);
                       }),
                       "output 1 was f64[2] at first and f32[2] when"));
      }
    }
    CHECK_FALSE(
        gradcheck(changing([](const Tensor&) { return List{}; }), {x}, {.raise_exception = false}));
  }

  TEST_CASE("one of the modes has to be on") {
    const Tensor x = tensor({1.0}, f64).requires_grad_();
    CHECK_THROWS_WITH_AS(gradcheck([](const Tensor& t) { return t * t; }, {x},
                                   {.raise_exception = false, .check_backward_ad = false}),
                         doctest::Contains("check_backward_ad and check_forward_ad are both off"),
                         ArgumentError);
  }

  TEST_CASE("forward mode alone passes inputs without history") {
    const Tensor x = tensor({1.0, 2.0}, f64).requires_grad_();
    for (const bool fast : {false, true}) {
      const GradcheckOptions options{
          .check_forward_ad = true, .check_backward_ad = false, .fast_mode = fast};
      CHECK(gradcheck(
          [](const Tensor& t) {
            CHECK_FALSE(t.requires_grad());
            return t * t;
          },
          {x}, options));
      CHECK_FALSE(gradcheck(
          [](const Tensor& t) { return t * unpack_dual(t).primal.detach(); }, {x},
          {.raise_exception = false, .check_forward_ad = true, .check_backward_ad = false}));
    }
  }

  TEST_CASE("backward meets undefined gradients") {
    const Tensor x = tensor({1.0, 2.0}, f64).requires_grad_();
    const auto unmaterialized = [](const Tensor& t) {
      return functions::fixture("results.unmaterialized").call<Tensor>(t);
    };
    CHECK(contains(failure([&] { gradcheck(unmaterialized, {x}); }),
                   "backward fails when its gradients are undefined"));
    CHECK(gradcheck(unmaterialized, {x}, {.check_undefined_grad = false}));
    CHECK(contains(failure([&] {
                     gradcheck(
                         [](const Tensor& t) {
                           return functions::fixture("results.gives_ones").call<Tensor>(t);
                         },
                         {x});
                   }),
                   "undefined gradients must give zero, but input 0 got 1"));
  }

  TEST_CASE("configured ops are checked like ops") {
    functions::fixture("styles.seen");
    const Tensor x = tensor({1.0, 2.0}, f64).requires_grad_();
    CHECK(gradcheck(configure("styles.add_constant", arg("constant") = 3.0), {x}));
    CHECK(gradgradcheck(configure("styles.add_constant", arg("constant") = 3.0), {x}));
  }

  TEST_CASE("inputs and outputs without elements are refused with the remedy") {
    const Tensor x = tensor({2.0}, f64).requires_grad_();
    const Tensor made = functions::tx("scalar").call<Tensor>(2, 3.0);
    CHECK_THROWS_WITH_AS(gradcheck([](const Tensor& t) { return t; }, {made}),
                         doctest::Contains("input 0 is of type"), ArgumentError);
    CHECK_THROWS_WITH_AS(gradcheck([&](const Tensor&) { return made; }, {x}),
                         doctest::Contains("output 0 is of type"), ArgumentError);
  }
}
