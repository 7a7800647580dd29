// Derivatives of solutions of equations.
#include <cmath>

#include <tenon/gradcheck.hpp>
#include <tenon/transforms/solver.hpp>

#include "tests/lib/transforms/derivative_support.hpp"

namespace {

using namespace transforming;

// By the C library, which leaves no history.
Tensor cube_root(const Tensor& a) {
  Numbers found;
  for (const double value : numbers(a)) found.push_back(std::cbrt(value));
  return row(found);
}
Tensor root_of(const Tensor& a) {
  const auto residual = [](const Tensor& x, const Tensor& b) { return x * x * x - b; };
  return custom_root(residual, cube_root, {1e-10, 1000, 3}, a);
}
Tensor fixed(const Tensor& a) {
  return fixed_point([](const Tensor& x, const Tensor& b) { return cos(b * x); }, zeros({2}, f64),
                     {1e-14}, a);
}

}  // namespace

TEST_SUITE("lib/transforms/solver") {
  TEST_CASE("a root has the derivatives of the implicit function, to the order that is asked for") {
    const Tensor a = row({8, 27});
    CHECK(close(root_of(a), row({2, 3})));
    CHECK(close(jacrev(root_of)(a), row({1 / 12.0, 0, 0, 1 / 27.0}).view({2, 2})));
    CHECK(close(jacfwd(root_of)(a), jacrev(root_of)(a)));
    const auto slope = [](const Tensor& b) {
      return grad([](const Tensor& c) { return sum(root_of(c)); })(b);
    };
    CHECK(close(slope(a), row({1 / 12.0, 1 / 27.0})));
    const auto bend = [&](const Tensor& b) { return jvp(slope, b, row({1, 1})).second; };
    CHECK(
        close(bend(a), row({-2 / 9.0 * std::pow(8, -5 / 3.0), -2 / 9.0 * std::pow(27, -5 / 3.0)})));
    CHECK(close(jvp(bend, a, row({1, 1})).second,
                row({10 / 27.0 * std::pow(8, -8 / 3.0), 10 / 27.0 * std::pow(27, -8 / 3.0)})));
  }

  TEST_CASE("a fixed point agrees with differences, also where it depends on a captured tensor") {
    const Tensor a = row({0.7, 0.4});
    CHECK(gradcheck(fixed, {a.clone().requires_grad_()}));
    const Tensor x = fixed(a);
    CHECK(close(cos(a * x), x));
    const auto captured = [&](const Tensor& b) {
      return sum(
          fixed_point([&](const Tensor& y) { return cos(b * y); }, zeros({2}, f64), {1e-14}));
    };
    CHECK(close(grad(captured)(a), grad([](const Tensor& b) { return sum(fixed(b)); })(a)));
  }

  TEST_CASE("a derivative beyond the order is refused, forward and backward") {
    const Tensor a = row({0.7, 0.4});
    const auto total = [](const Tensor& b) { return sum(fixed(b)); };
    const auto bend = [&](const Tensor& b) { return sum(grad(total)(b) * grad(total)(b)); };
    const auto twice = [&](const Tensor& b) { return sum(grad(bend)(b)); };
    CHECK(gradcheck(bend, {a.clone().requires_grad_()}));
    for (const auto& third : std::vector<std::function<void()>>{
             [&] { grad(twice)(a); },
             [&] {
               jvp(twice, a, row({1, 1}));
             },
             [&] { jacfwd(jacfwd(jacfwd(total)))(a); },
         }) {
      const Refused error = refused(third);
      CHECK(error.kind == TENON_ERROR_NOT_IMPLEMENTED);
      CHECK(has(error.text, "fixed_point: a derivative of order 3"));
    }
  }

  TEST_CASE("what has no solution, or no one equation for each unknown, is refused") {
    const Tensor a = row({1, 2});
    Refused error = refused([&] {
      fixed_point([](const Tensor& x) { return x + 1; }, a, {1e-10, 5});
    });
    CHECK(error.kind == TENON_ERROR_RUNTIME);
    CHECK(has(error.text, "no end after 5 iterations"));
    error = refused(
        [&] { custom_root([](const Tensor& x) { return sum(x); }, [&] { return a; }, {}); });
    CHECK(error.kind == TENON_ERROR_VALUE);
    error = refused([&] {
      custom_root([](const Tensor& x) { return x; }, [] { return tensor({1, 2}); }, {});
    });
    CHECK(error.kind == TENON_ERROR_TYPE);
    error = refused([&] {
      custom_root([](const Tensor& x) { return x; }, [&] { return a; }, {1e-10, 10, 0});
    });
    CHECK(has(error.text, "order is 0"));
  }
}
