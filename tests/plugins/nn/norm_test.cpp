// batch_norm, group_norm, instance_norm and rms_norm: values against sums written out here, running
// statistics, extremes, refusals.
#include <algorithm>

#include "../compare.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;

namespace {

using Shape = std::vector<int64_t>;

// Elements that have one key are normalized together.
std::vector<double> slow_norm(const Tensor& x, const std::function<int64_t(int64_t, int64_t)>& key,
                              double eps, const Tensor& weight, const Tensor& bias) {
  const std::vector<double> v = x.to_vector<double>();
  const int64_t channels = x.size(1), inner = x.numel() / x.size(0) / channels;
  std::vector<int64_t> keys;
  int64_t most = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    keys.push_back(key(i / inner / channels, i / inner % channels));
    most = std::max(most, keys.back());
  }
  std::vector<double> sum(static_cast<size_t>(most + 1)), square = sum, count = sum;
  for (size_t i = 0; i < v.size(); ++i) {
    const auto k = static_cast<size_t>(keys[i]);
    sum[k] += v[i];
    count[k] += 1;
  }
  for (size_t i = 0; i < v.size(); ++i) {
    const auto k = static_cast<size_t>(keys[i]);
    square[k] += std::pow(v[i] - sum[k] / count[k], 2);
  }
  std::vector<double> result;
  for (size_t i = 0; i < v.size(); ++i) {
    const auto k = static_cast<size_t>(keys[i]);
    const auto c = static_cast<size_t>(static_cast<int64_t>(i) / inner % channels);
    const double y = (v[i] - sum[k] / count[k]) / std::sqrt(square[k] / count[k] + eps);
    result.push_back(y * (weight.defined() ? weight.to_vector<double>()[c] : 1) +
                     (bias.defined() ? bias.to_vector<double>()[c] : 0));
  }
  return result;
}

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("batch_norm by running statistics is the same for channels of any length") {
    using tenon::tensor;
    const Tensor mean = tensor({0.5f, -2.f}), variance = tensor({4.f, 0.25f}),
                 w = tensor({3.f, -1.f}), b = tensor({1.f, 10.f});
    for (const int64_t length : {1, 100, 4095, 4096, 5000}) {
      CAPTURE(length);
      const Tensor x = compare::numbers({3, 2, length});
      const std::vector<double> found =
          functional::batch_norm(x, mean, variance, w, b, false, 0.1, 0).to_vector<double>();
      std::vector<double> expected = x.to_vector<double>();
      for (size_t i = 0; i < expected.size(); ++i) {
        const bool first = i / static_cast<size_t>(length) % 2 == 0;
        expected[i] = first ? (expected[i] - 0.5) / 2 * 3 + 1 : (expected[i] + 2) / 0.5 * -1 + 10;
      }
      compare::check_close(found, expected, 1e-5);
    }
  }

  TEST_CASE("norms of channels agree with their definition") {
    for (const DType dtype : {tenon::f32, tenon::f64}) {
      const double tolerance = dtype == tenon::f32 ? 2e-5 : 1e-12;
      for (const Shape& shape :
           {Shape{3, 4}, Shape{2, 4, 5}, Shape{2, 4, 1, 3}, Shape{1, 4, 2, 2, 2}}) {
        for (const bool strided : {false, true}) {
          Tensor x = numbers(shape, dtype) * 3 + 1;
          if (strided) x = tenon::stack({x, x}, -1).select(-1, 1);
          const Tensor w = numbers({4}, dtype, 2), b = numbers({4}, dtype, 3);
          CAPTURE(shape);
          const auto check = [&](const Tensor& found, const Tensor& weight, const Tensor& bias,
                                 const std::function<int64_t(int64_t, int64_t)>& key) {
            check_values(found, shape, slow_norm(x, key, 1e-5, weight, bias), tolerance);
          };
          const auto by_channel = [](int64_t, int64_t c) { return c; };
          const auto by_both = [](int64_t n, int64_t c) { return n * 4 + c; };
          check(functional::batch_norm(x, {}, {}, w, b, true), w, b, by_channel);
          check(functional::batch_norm(x, {}, {}, {}, b, true), {}, b, by_channel);
          for (const int64_t groups : {1, 2, 4}) {
            if (groups == 4 && shape.size() == 2) continue;
            check(functional::group_norm(x, groups, w, {}), w, {},
                  [&](int64_t n, int64_t c) { return n * groups + c / (4 / groups); });
          }
          if (shape.size() > 2) check(functional::instance_norm(x, {}, {}, w, b), w, b, by_both);
        }
      }
    }
  }

  TEST_CASE("batch_norm moves its running statistics in place, and uses them outside of training") {
    const Tensor x = numbers({4, 2, 3}, tenon::f64);
    const Tensor mean = tenon::tensor({1.0, -1.0}, tenon::f64),
                 var = tenon::tensor({0.5, 2.0}, tenon::f64);
    const Tensor old_mean = mean.clone(), old_var = var.clone();
    functional::batch_norm(x, mean, var, {}, {}, true, 0.3);
    check_close(mean, old_mean * 0.7 + x.mean({0, 2}) * 0.3, 1e-14);
    check_close(var, old_var * 0.7 + x.var({0, 2}, false, 1) * 0.3, 1e-14);
    const Tensor y = functional::batch_norm(x, old_mean, old_var, {}, {}, false, 0.1, 0.5);
    check_close(y, (x - old_mean.reshape({1, 2, 1})) / (old_var.reshape({1, 2, 1}) + 0.5).sqrt(),
                1e-14);
    check_values(old_mean, {2}, {1, -1});
    // One of them alone.
    functional::batch_norm(x, mean, {}, {}, {}, true, 1);
    check_close(mean, x.mean({0, 2}), 1e-14);
    // The gradient passes by the statistics, and a recorded input changes them all the same.
    const Tensor leaf_input = x.clone().requires_grad_();
    functional::batch_norm(leaf_input, mean, var, {}, {}, true, 0.3).sum().backward();
    CHECK(!mean.requires_grad());
    check_values(leaf_input.grad(), {4, 2, 3}, std::vector<double>(24, 0), 1e-9);
  }

  TEST_CASE("norms by running statistics keep what halves can say of inputs far from zero") {
    for (const tenon::DType dtype : {tenon::f16, tenon::bf16}) {
      const auto one = [&](double value) { return tenon::full({1}, value, dtype); };
      const auto normal = [&](double value, double mean, double variance, const Tensor& weight) {
        const Tensor x = tenon::full({2, 1, 3}, value, dtype);
        return functional::batch_norm(x, one(mean), one(variance), weight, one(0.5)).to(tenon::f64);
      };
      // Divided by the root of the eps alone, the mean is more than f16 can say.
      check_values(normal(300, 300, 0, {}), {2, 1, 3}, std::vector<double>(6, 0.5), 0);
      check_values(normal(101, 100, 2, one(2)), {2, 1, 3},
                   std::vector<double>(6, 2 / std::sqrt(2.0) + 0.5), 0.02);
    }
    const Tensor x = numbers({4, 2, 3}), mean = numbers({2}, tenon::f32, 5);
    const Tensor var = tenon::tensor({0.5, 2.0}, tenon::f32), weight = numbers({2}, tenon::f32, 6),
                 bias = numbers({2}, tenon::f32, 7);
    const auto wide = [](const Tensor& t) { return t.to(tenon::f64); };
    check_close(wide(functional::batch_norm(x, mean, var, weight, bias)),
                functional::batch_norm(wide(x), wide(mean), wide(var), wide(weight), wide(bias)),
                1e-5);
  }

  TEST_CASE("instance_norm moves its running statistics towards the means of the samples'") {
    const Tensor x = numbers({4, 2, 3}, tenon::f64);
    const Tensor mean = tenon::zeros({2}, tenon::f64), var = tenon::ones({2}, tenon::f64);
    functional::instance_norm(x, mean, var, {}, {}, true, 0.5);
    check_close(mean, x.mean({2}).mean({0}) * 0.5, 1e-14);
    check_close(var, x.var({2}, false, 1).mean({0}) * 0.5 + 0.5, 1e-14);
    check_close(functional::instance_norm(x, mean, var, {}, {}, false),
                functional::batch_norm(x, mean, var), 0);
  }

  TEST_CASE("rms_norm divides by the root of the mean square") {
    for (const DType dtype : {tenon::f32, tenon::f64}) {
      const Tensor x = numbers({3, 2, 4}, dtype), w = numbers({2, 4}, dtype, 2);
      const Tensor expected = x / (x.square().mean({1, 2}, true) + 0.1).sqrt() * w;
      check_close(functional::rms_norm(x, {2, 4}, w, 0.1), expected,
                  dtype == tenon::f32 ? 1e-6 : 1e-14);
      check_values(functional::rms_norm(
                       tenon::full({4}, 3.0, dtype) * (dtype == tenon::f32 ? 1e30 : 1e300), {4}),
                   {4}, {1, 1, 1, 1}, 1e-6);
      check_values(functional::rms_norm(tenon::zeros({2}, dtype), {2}), {2}, {0, 0});
      CHECK(functional::rms_norm(tenon::zeros({0, 2}, dtype), {2}).sizes() == Shape{0, 2});
    }
  }

  TEST_CASE("norms take what is empty, and what is far from zero") {
    CHECK(functional::batch_norm(tenon::zeros({0, 2, 3}), {}, {}, {}, {}, true).sizes() ==
          Shape{0, 2, 3});
    CHECK(functional::group_norm(tenon::zeros({2, 4, 0}), 2).sizes() == Shape{2, 4, 0});
    CHECK(functional::instance_norm(tenon::zeros({0, 2, 3})).sizes() == Shape{0, 2, 3});
    const Tensor far = tenon::tensor({{1.0}, {3.0}}, tenon::f32) * 1e30;
    check_values(functional::batch_norm(far, {}, {}, {}, {}, true), {2, 1}, {-1, 1}, 1e-6);
  }

  TEST_CASE("norms refuse what does not fit") {
    const Tensor x = tenon::ones({2, 4, 3});
    CHECK(refusal_of("group_norm", [&] { functional::group_norm(x, 3); }) ==
          "num_groups must divide the 4 channels of an input of shape [2, 4, 3], got 3");
    CHECK(refusal_of("group_norm", [&] { functional::group_norm(x, 0); }).find("num_groups must") ==
          0);
    CHECK(refusal_of("batch_norm", [&] { functional::batch_norm(x, {}, {}); }) ==
          "'running_mean' must be given where the input's own statistics are not used");
    CHECK(refusal_of("batch_norm", [&] {
            functional::batch_norm(x, tenon::ones({3}), {}, {}, {}, true);
          }) == "'running_mean' must have shape [4], got [3]");
    CHECK(
        refusal_of("batch_norm",
                   [&] {
                     functional::batch_norm(tenon::ones({1, 4}), {}, {}, {}, {}, true);
                   }) ==
        "more than 1 element for each channel is needed to have a variance, got an input of shape "
        "[1, 4]");
    CHECK_THROWS_AS(functional::batch_norm(tenon::ones({4}), {}, {}, {}, {}, true),
                    tenon::ValueError);
    CHECK_THROWS_AS(functional::instance_norm(x.to(tenon::i64)), tenon::TypeError);
    CHECK_THROWS_AS(functional::group_norm(x, 2, tenon::ones({4}, tenon::f64)), tenon::TypeError);
    CHECK(refusal_of("rms_norm", [&] { functional::rms_norm(x, {4}); }) ==
          "normalized_shape [4] must be the last dimensions of 'input', whose shape is [2, 4, 3]");
    CHECK(refusal_of("rms_norm", [&] { functional::rms_norm(x, {3}, {}, -1); }) ==
          "eps must be 0 or more, got -1");
  }
}
