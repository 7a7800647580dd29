// layer_norm: values, shapes, refusals.
#include "../compare.hpp"

using namespace compare;
using tenon::nn::functional::layer_norm;

TEST_SUITE("nn") {
  TEST_CASE("layer_norm normalizes rows to mean 0 and variance 1, then scales and shifts") {
    for (const int64_t n : {1, 5, 16, 100, 1024}) {
      for (const DType dtype : {tenon::f32, tenon::f64}) {
        const Tensor x = numbers({6, n}, dtype) * 3 + 10, w = numbers({n}, dtype, 2),
                     b = numbers({n}, dtype, 3);
        const Tensor y = x.to(tenon::f64), centered = y - y.mean({1}, true);
        const Tensor normal = centered / (centered.square().mean({1}, true) + 1e-5).sqrt();
        const double tolerance = dtype == tenon::f32 ? 2e-5 : 1e-11;
        check_close(layer_norm(x, {n}), normal, tolerance);
        check_close(layer_norm(x, {n}, w, b), normal * w.to(tenon::f64) + b.to(tenon::f64),
                    tolerance);
        check_close(layer_norm(x, {n}, {}, b), normal + b.to(tenon::f64), tolerance);
        check_close(layer_norm(x.t().clone().t(), {n}, w), normal * w.to(tenon::f64), tolerance);
      }
    }
    const Tensor images = numbers({2, 3, 4});
    check_close(layer_norm(images, {3, 4}),
                layer_norm(images.reshape({2, 12}), {12}).reshape({2, 3, 4}));
    CHECK(layer_norm(tenon::zeros({0, 4}), {4}).sizes() == std::vector<int64_t>{0, 4});
  }

  TEST_CASE("gradients of layer_norm are the same for any number of threads") {
    const Tensor x = numbers({500, 256}).requires_grad_(),
                 w = numbers({256}, tenon::f32, 2).requires_grad_();
    const int32_t before = tenon::thread_count();
    std::vector<std::vector<float>> seen;
    for (const int32_t threads : {1, 2}) {
      tenon::set_thread_count(threads);
      Tensor(w).set_grad({});
      layer_norm(x, {256}, w).square().sum().backward();
      seen.push_back(w.grad().to_vector<float>());
    }
    tenon::set_thread_count(before);
    CHECK(seen[0] == seen[1]);
  }

  TEST_CASE("layer_norm refuses what does not fit") {
    CHECK(refusal([] {
            layer_norm(tenon::zeros({2, 3}), {2});
          }) ==
          "layer_norm(): normalized_shape [2] must be the last dimensions of 'input', whose shape "
          "is [2, 3]");
    CHECK(refusal([] {
            layer_norm(tenon::zeros({2, 3}), {3}, tenon::ones({2}));
          }) == "layer_norm(): 'weight' must have shape [3], got [2]");
    CHECK_THROWS_AS(layer_norm(tenon::zeros({3}), {2, 3}), tenon::ValueError);
    CHECK_THROWS_AS(layer_norm(tenon::zeros({3}), std::vector<int64_t>()), tenon::ValueError);
    CHECK_THROWS_AS(layer_norm(tenon::zeros({3}, tenon::i64), {3}), tenon::TypeError);
    CHECK_THROWS_AS(layer_norm(tenon::zeros({3}), {3}, tenon::ones({3}, tenon::f64)),
                    tenon::TypeError);
  }
}
