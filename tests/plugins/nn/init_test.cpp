// First values of parameters.
#include <algorithm>
#include <cmath>

#include <tenon/init.hpp>

#include "../compare.hpp"

using namespace tenon;

namespace {

struct Moments {
  double mean, variance, low, high;
};
Moments moments(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_vector<double>();
  Moments found{0, 0, values[0], values[0]};
  for (const double value : values) {
    found.mean += value / static_cast<double>(values.size());
    found.low = std::min(found.low, value);
    found.high = std::max(found.high, value);
  }
  for (const double value : values)
    found.variance +=
        (value - found.mean) * (value - found.mean) / static_cast<double>(values.size());
  return found;
}

}  // namespace

TEST_SUITE("nn/init") {
  TEST_CASE("MOD-34 init works where a recorded change is refused, and records nothing") {
    const Tensor leaf = zeros({3, 4}).requires_grad_();
    CHECK_THROWS_AS(leaf.fill_(1), Error);
    init::ones_(leaf);
    CHECK(leaf.sum().item() == 12);
    CHECK(leaf.is_leaf());
    CHECK(leaf.requires_grad());
    init::zeros_(leaf);
    CHECK(leaf.sum().item() == 0);
    init::constant_(leaf, 0.5);
    CHECK(leaf.sum().item() == 6);
  }

  TEST_CASE("MOD-34 gains") {
    const Op gain("nn.init.calculate_gain");
    CHECK(gain.call<double>("tanh") == 5.0 / 3);
    CHECK(gain.call<double>("relu") == std::sqrt(2.0));
    CHECK(gain.call<double>("leaky_relu") == std::sqrt(2 / (1 + 0.01 * 0.01)));
    CHECK(std::abs(gain.call<double>("leaky_relu", 0.2) - 1.38675049) < 1e-8);
    CHECK(gain.call<double>("linear") == 1);
    CHECK(gain.call<double>("selu") == 0.75);
    CHECK_THROWS_WITH_AS(gain.call<double>("rely"),
                         doctest::Contains("unknown nonlinearity 'rely'"), ValueError);
  }

  TEST_CASE("random first values have the variance of their formula, within their bounds") {
    seed_generator(3);
    const Tensor weight = zeros({200, 300});
    const auto variance = [&](const char* name, auto&&... arguments) {
      init::set(weight, name, arguments...);
      const Moments found = moments(weight);
      CHECK(std::abs(found.mean) < 4 * std::sqrt(found.variance / 60000));
      return found.variance;
    };
    CHECK(variance("xavier_uniform_") == doctest::Approx(2.0 / 500).epsilon(0.03));
    CHECK(variance("xavier_normal_", 2.0) == doctest::Approx(8.0 / 500).epsilon(0.03));
    CHECK(variance("kaiming_uniform_") == doctest::Approx(2.0 / 300).epsilon(0.03));
    CHECK(variance("kaiming_normal_", 0.0, "fan_out", "relu") ==
          doctest::Approx(2.0 / 200).epsilon(0.03));
    init::uniform_(weight, -0.1, 0.1);
    CHECK(moments(weight).low >= -0.1);
    CHECK(moments(weight).high <= 0.1);
    init::set(weight, "trunc_normal_", 0.0, 1.0, -1.0, 1.0);
    const Moments cut = moments(weight);
    CHECK(cut.low >= -1);
    CHECK(cut.high <= 1);
    CHECK(cut.variance == doctest::Approx(0.29112).epsilon(0.03));  // 1 - 2 phi(1) / (2 Phi(1) - 1)
  }

  TEST_CASE("orthogonal rows or columns, an identity, and a convolution that keeps its channels") {
    for (const auto& shape : {std::vector<int64_t>{5, 8}, {8, 5}, {4, 2, 3}}) {
      const Tensor weight =
          init::set(zeros(shape, f64), "orthogonal_", 2.0).reshape({shape[0], -1});
      const bool wide = weight.size(0) <= weight.size(1);
      const Tensor product = wide ? mm(weight, weight.t()) : mm(weight.t(), weight);
      const Tensor expected = eye(product.size(0), none, f64) * 4;
      CHECK((product - expected).abs().amax().item() < 1e-12);
    }
    CHECK(init::eye_(zeros({2, 3})).to_vector<float>() == std::vector<float>{1, 0, 0, 0, 1, 0});
    const Tensor weight = init::set(zeros({4, 2, 3, 3}), "dirac_", int64_t{2});
    const Tensor image = rand({1, 4, 5, 5});
    const Tensor kept = nn::functional::conv2d(image, weight, Tensor(), 1, 1, 1, int64_t{2});
    CHECK((kept - image).abs().amax().item() == 0);
    CHECK(init::set(zeros({0, 2, 3}), "dirac_", int64_t{1} << 62).numel() == 0);
    CHECK_THROWS_WITH_AS(init::eye_(zeros({2})), doctest::Contains("must have 2 dimensions"),
                         ValueError);
    CHECK_THROWS_WITH_AS(init::set(zeros({3}), "xavier_uniform_"),
                         doctest::Contains("at least 2 dimensions"), ValueError);
  }
}
