// Depthwise convolutions against the products that the same kernels give in one group.
#include <algorithm>
#include <random>

#include "../compare.hpp"

using namespace compare;
using tenon::f32, tenon::f64;

namespace {

struct Case {
  int64_t dimensions, batch, channels, multiplier;
  std::vector<int64_t> image, kernel, stride, padding, dilation;
};

Case random_case(std::mt19937_64& random) {
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
  Case c;
  c.dimensions = 1 + below(3);
  c.batch = 1 + below(3);
  c.channels = 2 + below(4);
  c.multiplier = 1 + below(2);
  const uint64_t largest = c.dimensions == 1 ? 20000 : c.dimensions == 2 ? 150 : 14;
  for (int64_t d = 0; d < c.dimensions; ++d) {
    c.kernel.push_back(1 + below(5));
    c.dilation.push_back(1 + below(3));
    c.stride.push_back(below(3) == 0 ? 1 + below(3) : 1);
    c.padding.push_back(below(2) == 0 ? below(9) : 0);  // also more than the kernel reaches
    const int64_t reach = c.dilation.back() * (c.kernel.back() - 1) + 1;
    c.image.push_back(std::max(reach - 2 * c.padding.back(), int64_t{1}) +
                      below(below(2) == 0 ? 9 : largest));
  }
  return c;
}

std::vector<int64_t> joined(std::vector<int64_t> first, const std::vector<int64_t>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

struct Outcome {
  Tensor result, input, weight, bias;
};
Outcome outcome_of(const Case& c, DType dtype, bool groups, const Tensor& gradient) {
  const int64_t features = c.channels * c.multiplier;
  Outcome o;
  o.input = numbers(joined({c.batch, c.channels}, c.image), dtype, 1).requires_grad_();
  o.weight = numbers(joined({features, 1}, c.kernel), dtype, 2).requires_grad_();
  o.bias = numbers({features}, dtype, 3).requires_grad_();
  Tensor weight = o.weight;
  if (!groups) {
    // Zeros for the other channels.
    std::vector<int64_t> pattern(static_cast<size_t>(c.dimensions) + 2, 1);
    pattern[0] = features;
    pattern[1] = c.channels;
    std::vector<double> own(static_cast<size_t>(features * c.channels), 0.0);
    for (int64_t f = 0; f < features; ++f)
      own[static_cast<size_t>(f * c.channels + f / c.multiplier)] = 1;
    weight = weight * tenon::from_range(own.begin(), own.end()).to(dtype).reshape(pattern);
  }
  const tenon::Op conv("nn.functional.conv" + std::to_string(c.dimensions) + "d");
  o.result = conv.call<Tensor>(o.input, weight, o.bias, c.stride, c.padding, c.dilation,
                               groups ? c.channels : 1);
  if (gradient.defined()) o.result.backward(gradient.to(dtype));
  return o;
}

// To the largest of the numbers, whose terms add up.
void check_near(const Tensor& found, const Tensor& expected, double tolerance) {
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

TEST_SUITE("nn/depthwise") {
  TEST_CASE("results and gradients are those of one group, for sizes of every kind") {
    std::mt19937_64 random(23);
    for (int round = 0; round < 120; ++round) {
      CAPTURE(round);
      const Case c = random_case(random);
      const Tensor gradient = numbers(outcome_of(c, f64, true, {}).result.sizes(), f64, random());
      const Outcome expected = outcome_of(c, f64, false, gradient);
      for (const DType dtype : {f64, f32}) {
        const double tolerance = dtype == f64 ? 1e-13 : 2e-5;
        const Outcome found = outcome_of(c, dtype, true, gradient);
        check_near(found.result.to(f64), expected.result, tolerance);
        check_near(found.input.grad().to(f64), expected.input.grad(), tolerance);
        check_near(found.weight.grad().to(f64), expected.weight.grad(), tolerance);
        check_near(found.bias.grad().to(f64), expected.bias.grad(), tolerance);
      }
    }
  }

  TEST_CASE("the same bits for any number of threads") {
    std::mt19937_64 random(4);
    for (int round = 0; round < 10; ++round) {
      const Case c = random_case(random);
      const Tensor gradient = numbers(outcome_of(c, f32, true, {}).result.sizes(), f32, random());
      tenon::set_thread_count(1);
      const Outcome one = outcome_of(c, f32, true, gradient);
      for (const int32_t threads : {2, 3}) {
        tenon::set_thread_count(threads);
        const Outcome several = outcome_of(c, f32, true, gradient);
        CHECK(several.result.to_vector<float>() == one.result.to_vector<float>());
        CHECK(several.input.grad().to_vector<float>() == one.input.grad().to_vector<float>());
        CHECK(several.weight.grad().to_vector<float>() == one.weight.grad().to_vector<float>());
      }
    }
    tenon::set_thread_count(0);
  }
}
