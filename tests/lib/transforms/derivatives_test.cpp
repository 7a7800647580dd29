// Derivatives of functions, and derivatives of derivatives.
#include <cmath>

#include <tenon/gradcheck.hpp>
#include <tenon/nn_ops.hpp>
#include <tenon/transforms/jacobian.hpp>

#include "tests/lib/transforms/derivative_support.hpp"
#include "tests/support/logged.hpp"

namespace {

using namespace transforming;
using tenon_test::logged;

Tensor cube(const Tensor& x) { return sum(x * x * x); }
// [2] to [3].
Tensor mixed(const Tensor& x) {
  const Tensor a = select(x, 0, 0), b = select(x, 0, 1);
  return stack({a * b, sin(a), b * b * b}, 0);
}

}  // namespace

TEST_SUITE("lib/transforms/derivatives") {
  TEST_CASE("a gradient has the shape of its argument, and leaves the argument as it is") {
    const Tensor x = row({1, 2});
    CHECK(numbers(grad(cube)(x)) == Numbers{3, 12});
    CHECK_FALSE(x.requires_grad());
    const auto [value, gradient] = value_and_grad(cube)(x);
    CHECK(value.item() == 9);
    CHECK_FALSE(value.requires_grad());
    CHECK_FALSE(gradient.requires_grad());
    Tensor leaf = row({1, 2}).requires_grad_();
    CHECK(grad(cube)(leaf).requires_grad());
    CHECK_FALSE(leaf.grad().defined());
    const NoGrad off;
    CHECK_FALSE(grad(cube)(leaf).requires_grad());
  }

  TEST_CASE("argnums name the arguments, which may be structures, and aux is passed on") {
    const auto f = [](const Tensor& x, double k, const std::vector<Tensor>& list) {
      return sum(x * list[0] * k + list[1]);
    };
    const Tensor x = row({1, 2});
    const std::vector<Tensor> list{row({3, 4}), row({5, 6})};
    const auto [gx, glist] = grad(f, argnums<0, 2>)(x, 2.0, list);
    CHECK(numbers(gx) == Numbers{6, 8});
    CHECK(numbers(glist[0]) == Numbers{2, 4});
    CHECK(numbers(glist[1]) == Numbers{1, 1});
    const auto with_text = [&](const Tensor& y) { return std::pair(cube(y), std::string("seen")); };
    const auto [gradient, text] = grad(with_text, argnums<0>, has_aux)(x);
    CHECK(numbers(gradient) == Numbers{3, 12});
    CHECK(text == "seen");
    const auto [value, again] = value_and_grad(with_text, argnums<0>, has_aux)(x);
    CHECK(value.first.item() == 9);
    CHECK(value.second == "seen");
    CHECK(numbers(again) == Numbers{3, 12});
  }

  TEST_CASE("a captured tensor that requires grad gets a history through the gradient") {
    Tensor w = row({2}).requires_grad_();
    const Tensor g = grad([&](const Tensor& x) { return sum(w * w * x * x); })(row({3}));
    CHECK(numbers(g) == Numbers{24});
    CHECK(numbers(gradients({g}, {w})[0]) == Numbers{24});
  }

  TEST_CASE("derivatives nest to any order, each in its own level") {
    const auto f = [](const Tensor& x) { return sum(exp(x * 2)); };
    const auto d = [](auto g) { return [g](const Tensor& x) { return sum(grad(g)(x)); }; };
    CHECK(d(d(d(f)))(scalar(0.5)).item() == doctest::Approx(8 * std::exp(1.0)));
    const auto t = [](auto g) {
      return [g](const Tensor& x) { return jvp(g, x, ones_like(x)).second; };
    };
    CHECK(t(t(t(f)))(scalar(0.5)).item() == doctest::Approx(8 * std::exp(1.0)));
    CHECK(t(d(t(d(f))))(scalar(0.5)).item() == doctest::Approx(16 * std::exp(1.0)));
    CHECK(d(t(d(t(f))))(scalar(0.5)).item() == doctest::Approx(16 * std::exp(1.0)));
  }

  TEST_CASE("levels are not mixed up, whichever mode is inside of which") {
    // d/dx (x * d/dy (x + y)) = 1, and d/dx (x * d/dy (x * y) at y = x) = 2x.
    const auto backward = [](const auto& f, const Tensor& at) { return grad(f)(at); };
    const auto forward = [](const auto& f, const Tensor& at) {
      return jvp(f, at, ones_like(at)).second;
    };
    const auto check = [](const auto& outer, const auto& inner) {
      const auto sum_of = [&](const Tensor& x) {
        return x * inner([&](const Tensor& y) { return x + y; }, scalar(7));
      };
      CHECK(outer(sum_of, scalar(3)).item() == 1);
      const auto product = [&](const Tensor& x) {
        return x * inner([&](const Tensor& y) { return x * y; }, x);
      };
      CHECK(outer(product, scalar(3)).item() == 6);
      const auto captured = [&](const Tensor& x) {
        return inner([&](const Tensor& y) { return x * x * y * y; }, x * 2);
      };
      CHECK(outer(captured, scalar(3)).item() == 2 * 2 * 3 * 9);  // (4 x^3)'
    };
    check(backward, backward);
    check(backward, forward);
    check(forward, backward);
    check(forward, forward);
  }

  TEST_CASE("vjp gives a pullback that runs as often as it is asked") {
    const auto [value, pullback] = vjp(mixed, row({2, 3}));
    CHECK(close(value, row({6, std::sin(2.0), 27})));
    CHECK(numbers(pullback(row({1, 0, 0}))) == Numbers{3, 2});
    CHECK(numbers(pullback(row({0, 0, 1}))) == Numbers{0, 27});
    const auto two = [](const Tensor& x, const Tensor& y) { return std::pair(x * y, x + y); };
    const auto [pair, back] = vjp(two, row({2}), row({5}));
    const auto [gx, gy] = back({row({1}), row({10})});
    CHECK(pair.second.item() == 7);
    CHECK(numbers(gx) == Numbers{15});
    CHECK(numbers(gy) == Numbers{12});
  }

  TEST_CASE("jvp and linearize map tangents forward") {
    const auto [value, tangent] = jvp(mixed, row({2, 3}), row({1, 10}));
    CHECK(close(value, row({6, std::sin(2.0), 27})));
    CHECK(close(tangent, row({23, std::cos(2.0), 270})));
    const auto two = [](const Tensor& x, const Tensor& y) { return x * y; };
    CHECK(jvp(two, std::tuple(scalar(2), scalar(5)), std::tuple(scalar(1), scalar(10)))
              .second.item() == 25);
    int runs = 0;
    const auto counted = [&](const Tensor& x) {
      ++runs;
      return mixed(x);
    };
    const auto [point, derivative] = linearize(counted, row({2, 3}));
    CHECK(numbers(point) == numbers(value));
    CHECK(numbers(derivative(row({1, 10}))) == numbers(tangent));
    CHECK(numbers(derivative(row({0, 1}))) == Numbers{2, 0, 27});
    CHECK(runs == 1);
  }

  TEST_CASE("Jacobians by rows and by columns are one tensor, whatever the chunks") {
    const Tensor x = row({2, 3});
    const Numbers expected{3, 2, std::cos(2.0), 0, 0, 27};
    for (const int64_t chunk : {0, 1, 2, 5}) {
      const Tensor rows = jacrev(mixed, argnums<0>, {chunk})(x);
      CHECK(rows.sizes() == std::vector<int64_t>{3, 2});
      CHECK(close(rows, row(expected).view({3, 2})));
      CHECK(close(jacfwd(mixed, argnums<0>, {chunk})(x), row(expected).view({3, 2})));
    }
    const auto two = [](const Tensor& a, const Tensor& b) { return std::pair(a * b, sum(a)); };
    const auto [of_product, of_sum] = jacrev(two, argnums<0, 1>)(x, row({5, 7}));
    CHECK(numbers(std::get<0>(of_product)) == Numbers{5, 0, 0, 7});
    CHECK(numbers(std::get<1>(of_product)) == Numbers{2, 0, 0, 3});
    CHECK(numbers(std::get<0>(of_sum)) == Numbers{1, 1});
    CHECK(numbers(std::get<1>(of_sum)) == Numbers{0, 0});
    CHECK(numbers(jacfwd(two, argnums<1>)(x, row({5, 7})).first) == Numbers{2, 0, 0, 3});
    CHECK(jacrev(mixed)(x).sizes() == jacfwd(mixed)(x).sizes());
    const auto empty = [](const Tensor& a) { return narrow(a, 0, 0, 0); };
    CHECK(jacrev(empty)(x).sizes() == std::vector<int64_t>{0, 2});
    CHECK(jacfwd(mixed)(x).sizes() == std::vector<int64_t>{3, 2});
  }

  TEST_CASE(
      "rows that cannot be computed together are computed alone, and the log says why, once") {
    const auto looks = [](const Tensor& x) { return x * x.sum().item(); };
    const Tensor x = row({2, 3});
    const auto columns = [&] { CHECK(numbers(jacfwd(looks)(x)) == Numbers{5, 0, 0, 5}); };
    const std::string text = logged(columns);
    CHECK(has(text, "jacfwd computes one row after the other, since all at once fail: "));
    CHECK(logged(columns).empty());
    CHECK(logged([&] { jacrev(looks)(x); }).empty());
  }

  TEST_CASE("a Hessian, and its product with a direction") {
    const auto f = [](const Tensor& x) { return sum(x * x * x) + prod(x); };
    const Tensor x = row({2, 3}), v = row({1, 10});
    CHECK(numbers(hessian(f)(x)) == Numbers{12, 1, 1, 18});
    CHECK(numbers(hvp(f, x, v)) == Numbers{22, 181});
    CHECK(close(jacrev(jacrev(f))(x), row({12, 1, 1, 18}).view({2, 2})));
    CHECK(numbers(jacrev(jacfwd(f))(x)) == Numbers{12, 1, 1, 18});
    CHECK(numbers(jacfwd(jacfwd(f))(x)) == Numbers{12, 1, 1, 18});
    CHECK(jacfwd(hessian(f))(x).sizes() == std::vector<int64_t>{2, 2, 2});
    CHECK(numbers(hessian([](const Tensor& y) { return sum(y * 3); })(x)) == Numbers{0, 0, 0, 0});
  }

  TEST_CASE("gradcheck agrees with Jacobians of shipped ops") {
    const Tensor a = row({0.3, -0.4, 0.5, 0.7}).view({2, 2}),
                 b = row({1.5, 0.2, 0.4, 1.1}).view({2, 2});
    const auto f = [](const Tensor& x, const Tensor& y) {
      return tanh(matmul(x, y)) * nn::functional::softmax(x, 1);
    };
    gradcheck(
        [&](const Tensor& x, const Tensor& y) {
          return grad([&](const Tensor& z) { return sum(f(z, y)); })(x);
        },
        {a.clone().requires_grad_(), b.clone().requires_grad_()});
    CHECK(close(jacrev(f)(a, b), jacfwd(f)(a, b)));
    CHECK(close(jacrev(f, argnums<1>)(a, b), jacfwd(f, argnums<1>)(a, b)));
  }

  TEST_CASE("wrong functions and arguments are refused with a remedy") {
    const Tensor x = row({1, 2});
    const auto identity = [](const Tensor& y) { return y * 1; };
    Refused error = refused([&] { grad(identity)(x); });
    CHECK(error.kind == TENON_ERROR_VALUE);
    CHECK(
        error.text ==
        "grad: the function returned f64 [2], and a gradient is that of one number; sum it, or use "
        "vjp or jacrev");
    error = refused([&] { grad(cube)(tensor({1, 2})); });
    CHECK(error.kind == TENON_ERROR_TYPE);
    CHECK(has(error.text, "input 0 is i64"));
    CHECK(has(error.text, "leave its argument out of argnums"));
    error = refused([&] { grad([](const Tensor&) { return Tensor(); })(x); });
    CHECK(error.kind == TENON_ERROR_TYPE);
    CHECK(has(error.text, "undefined tensor"));
    error = refused([&] { grad([](const Tensor& y) { return argmax(y); })(x); });
    CHECK(error.kind == TENON_ERROR_TYPE);
    CHECK(has(error.text, "the result is i64"));
    const auto constant = [](const Tensor& y) { return sum(y.detach()); };
    CHECK(numbers(grad(constant)(x)) == Numbers{0, 0});
    error = refused([&] { grad(constant, argnums<0>, GradOptions{true})(x); });
    CHECK(error.kind == TENON_ERROR_RUNTIME);
    CHECK(has(error.text, "does not depend on input 0"));
    error = refused([&] { jvp(identity, x, row({1})); });
    CHECK(error.kind == TENON_ERROR_VALUE);
    CHECK(has(error.text, "tangent 0 is f64 [1], and input 0 f64 [2]"));
    error = refused([&] { vjp(identity, x).second(row({1})); });
    CHECK(error.kind == TENON_ERROR_VALUE);
    CHECK(has(error.text, "cotangent 0 is f64 [1]"));
    error = refused([&] { jacrev(identity, argnums<0>, {-1})(x); });
    CHECK(error.kind == TENON_ERROR_VALUE);
    CHECK(has(error.text, "chunk_size is -1"));
    error = refused([&] { jacrev(identity)(tensor({1.0, 2.0}).to(c128)); });
    CHECK(error.kind == TENON_ERROR_TYPE);
    CHECK(has(error.text, "view_as_real"));
    const InferenceMode inference;
    CHECK(refused([&] { grad(cube)(x); }).kind == TENON_ERROR_RUNTIME);
  }

  TEST_CASE("what the function throws leaves no level open") {
    const auto fails = [](const Tensor&) -> Tensor { throw ValueError("from the function"); };
    CHECK(refused([&] { grad(fails)(row({1})); }).text == "from the function");
    CHECK(refused([&] { jvp(fails, row({1}), row({1})); }).text == "from the function");
    CHECK_FALSE(grad(cube)(row({1})).requires_grad());
    CHECK(refused([] { make_dual(row({1}), row({1})); }).kind == TENON_ERROR_RUNTIME);
  }
}
