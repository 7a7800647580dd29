// Derivatives of functions within vmap, and of functions that vmap gives.
#include <tenon/transforms/checkpoint.hpp>
#include <tenon/transforms/jacobian.hpp>

#include "tests/lib/transforms/support.hpp"

using namespace batching;

namespace {

namespace tt = tenon::transforms;

Tensor layer(const Tensor& w, const Tensor& x) { return tanh(matmul(w, x)) * x; }
Tensor loss(const Tensor& w, const Tensor& x) { return sum(layer(w, x) * exp(x)); }

// `f(w, x)` by vmap over the rows of x, of which w is shared, beside the loop.
template <class F>
double against_loop(const F& f) {
  const Tensor w = randn({3, 3}, f64), rows = randn({4, 3}, f64);
  std::vector<Tensor> each;
  for (int64_t i = 0; i < rows.size(0); ++i) each.push_back(f(w, select(rows, 0, i)));
  return difference(vmap(f, {none, 0})(w, rows), stack(each, 0));
}

}  // namespace

TEST_SUITE("lib/transforms/vmap_derivatives") {
  TEST_CASE("each sample has another gradient, of shared arguments too") {
    CHECK(against_loop(tt::grad(loss)) < 1e-12);
    CHECK(against_loop(tt::grad(loss, tt::argnums<1>)) < 1e-12);
    CHECK(against_loop([](const Tensor& w, const Tensor& x) {
            return tt::value_and_grad(loss)(w, x).second;
          }) < 1e-12);
  }

  TEST_CASE("a gradient of a gradient runs in a vmap") {
    CHECK(against_loop([](const Tensor& w, const Tensor& x) {
            const auto slope = [&](const Tensor& v) {
              return sum(tt::grad(loss, tt::argnums<1>)(w, v));
            };
            return tt::grad(slope)(x);
          }) < 1e-11);
  }

  TEST_CASE("vjp, jvp and hvp run in a vmap") {
    CHECK(against_loop([](const Tensor& w, const Tensor& x) {
            const auto [y, pullback] = tt::vjp([&](const Tensor& v) { return layer(w, v); }, x);
            return pullback(y * x);
          }) < 1e-12);
    CHECK(against_loop([](const Tensor& w, const Tensor& x) {
            return tt::jvp([&](const Tensor& v) { return layer(w, v); }, x, sin(x)).second;
          }) < 1e-12);
    CHECK(against_loop([](const Tensor& w, const Tensor& x) {
            return tt::hvp([&](const Tensor& v) { return loss(w, v); }, x, sin(x));
          }) < 1e-11);
  }

  TEST_CASE("Jacobians and Hessians run in a vmap") {
    CHECK(against_loop([](const Tensor& w, const Tensor& x) {
            return tt::jacrev([&](const Tensor& v) { return layer(w, v); })(x);
          }) < 1e-12);
    CHECK(against_loop([](const Tensor& w, const Tensor& x) {
            return tt::jacfwd([&](const Tensor& v) { return layer(w, v); })(x);
          }) < 1e-12);
    CHECK(against_loop([](const Tensor& w, const Tensor& x) {
            return tt::hessian([&](const Tensor& v) { return loss(w, v); })(x);
          }) < 1e-11);
  }

  TEST_CASE("derivatives are taken of a vmap, and of a vmap in a vmap") {
    const Tensor w = randn({3, 3}, f64), rows = randn({4, 3}, f64);
    const auto losses = [&](const Tensor& v) { return vmap(loss, {none, 0})(v, rows); };
    CHECK(difference(tt::grad([&](const Tensor& v) { return sum(losses(v)); })(w),
                     sum(vmap(tt::grad(loss), {none, 0})(w, rows), {0})) < 1e-12);
    CHECK(difference(tt::jacrev(losses)(w), vmap(tt::grad(loss), {none, 0})(w, rows)) < 1e-12);
    const Tensor weights = randn({2, 3, 3}, f64);
    const Tensor table = vmap(vmap(tt::grad(loss), {none, 0}), {0, none})(weights, rows);
    for (int64_t i = 0; i < 2; ++i)
      CHECK(difference(select(table, 0, i),
                       vmap(tt::grad(loss), {none, 0})(select(weights, 0, i), rows)) < 1e-12);
  }

  TEST_CASE("a checkpoint in a vmap has its gradients after it") {
    const Tensor w = randn({3, 3}, f64), rows = randn({4, 3}, f64);
    const auto total = [&](const auto& f) {
      return tt::grad([&](const Tensor& v) { return sum(vmap(f, {none, 0})(v, rows)); })(w);
    };
    const auto checkpointed = [](const Tensor& v, const Tensor& x) {
      return tt::checkpoint(loss, v, x);
    };
    CHECK(difference(total(checkpointed), total(loss)) < 1e-12);
  }

  TEST_CASE("a pullback belongs to the vmap of its function") {
    const Tensor rows = randn({4, 3}, f64);
    const auto [y, pullback] = tt::vjp([](const Tensor& v) { return v * v; }, rows);
    const auto& pull = pullback;
    CHECK(refusal<RuntimeError>([&] {
            vmap([&](const Tensor& row) { return pull(row); })(rows);
          }).find("the pullback is called inside of another vmap than the function was") !=
          std::string::npos);
  }
}
