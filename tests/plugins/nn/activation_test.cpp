// Activations, dropout and embedding: values, extremes, refusals.
#include <algorithm>
#include <limits>

#include "../compare.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// The function of each element, in double.
void check_pointwise(const std::function<Tensor(const Tensor&)>& op,
                     const std::function<double(double)>& expected) {
  for (const DType dtype : {tenon::f32, tenon::f64}) {
    const Tensor x = numbers({5, 41}, dtype) * 6;
    const std::vector<double> at = x.to_vector<double>();
    std::vector<double> values;
    for (const double v : at) values.push_back(expected(v));
    check_values(op(x), {5, 41}, values, dtype == tenon::f32 ? 2e-6 : 1e-14);
    CHECK(op(x.t()).sizes() == std::vector<int64_t>{41, 5});
    CHECK(op(tenon::zeros({0, 3}, dtype)).numel() == 0);
  }
  CHECK_THROWS_AS(op(tenon::zeros({2}, tenon::i64)), tenon::TypeError);
}

Tensor gelu_as(const Tensor& x, const char* approximate) {
  return tenon::Op("nn.functional.gelu").call<Tensor>(x, tenon::arg("approximate") = approximate);
}

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("activations agree with their definition") {
    check_pointwise([](const Tensor& x) { return functional::gelu(x); },
                    [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); });
    check_pointwise([](const Tensor& x) { return gelu_as(x, "tanh"); },
                    [](double x) {
                      return 0.5 * x *
                             (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
                    });
    check_pointwise([](const Tensor& x) { return functional::silu(x); },
                    [](double x) { return x / (1 + std::exp(-x)); });
    check_pointwise([](const Tensor& x) { return functional::softplus(x, 2, 5); },
                    [](double x) { return 2 * x > 5 ? x : std::log1p(std::exp(2 * x)) / 2; });
    check_pointwise([](const Tensor& x) { return functional::leaky_relu(x, 0.1); },
                    [](double x) { return x > 0 ? x : 0.1 * x; });
    check_pointwise([](const Tensor& x) { return functional::elu(x, 0.5); },
                    [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); });
    const auto softplus = [](double x) {
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    };
    check_pointwise([](const Tensor& x) { return functional::celu(x, 1.5); },
                    [](double x) { return x > 0 ? x : 1.5 * std::expm1(x / 1.5); });
    check_pointwise([](const Tensor& x) { return functional::selu(x); },
                    [](double x) {
                      return 1.0507009873554804934 *
                             (x > 0 ? x : 1.6732632423543772848 * std::expm1(x));
                    });
    check_pointwise([](const Tensor& x) { return functional::elu(x, 0.5, 3, 0.25); },
                    [](double x) { return 3 * (x > 0 ? x : 0.5 * std::expm1(0.25 * x)); });
    check_pointwise([](const Tensor& x) { return functional::logsigmoid(x); },
                    [=](double x) { return -softplus(-x); });
    check_pointwise([](const Tensor& x) { return functional::mish(x); },
                    [=](double x) { return x * std::tanh(softplus(x)); });
    check_pointwise([](const Tensor& x) { return functional::softsign(x); },
                    [](double x) { return x / (1 + std::abs(x)); });
    check_pointwise([](const Tensor& x) { return functional::hardsigmoid(x); },
                    [](double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; });
    check_pointwise([](const Tensor& x) { return functional::hardswish(x); },
                    [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; });
    check_pointwise([](const Tensor& x) { return functional::hardshrink(x, 1.5); },
                    [](double x) { return std::abs(x) <= 1.5 ? 0 : x; });
    check_pointwise([](const Tensor& x) { return functional::softshrink(x, 1.5); },
                    [](double x) { return std::abs(x) <= 1.5 ? 0
                                          : x > 0            ? x - 1.5
                                                             : x + 1.5; });
    check_pointwise([](const Tensor& x) { return functional::tanhshrink(x); },
                    [](double x) { return x - std::tanh(x); });
    check_pointwise([](const Tensor& x) { return functional::threshold(x, 0.5, -7); },
                    [](double x) { return x > 0.5 ? x : -7; });
    check_values(functional::softplus(tenon::tensor({1000.0, -1000.0})), {2}, {1000, 0});
    check_values(functional::elu(tenon::tensor({inf, -inf})), {2}, {inf, -1});
  }

  TEST_CASE("hardtanh and relu6 cut, integers too, and have no gradient at their bounds") {
    check_values(functional::hardtanh(tenon::tensor({-3.0, -0.5, 2.0}), -2, 0.5), {3},
                 {-2, -0.5, 0.5});
    const Tensor whole = functional::hardtanh(tenon::tensor({-3, 0, 9}), -2, 7);
    CHECK(whole.dtype() == tenon::i64);
    check_values(whole, {3}, {-2, 0, 7});
    const Tensor x = tenon::tensor({-1.0, 0.0, 3.0, 6.0, 7.0}, tenon::f64).requires_grad_();
    const Tensor y = functional::relu6(x);
    check_values(y, {5}, {0, 0, 3, 6, 6});
    y.sum().backward();
    check_values(x.grad(), {5}, {0, 0, 1, 0, 0});
    CHECK(functional::relu6(tenon::tensor({-1, 9})).to_vector<int64_t>() ==
          std::vector<int64_t>{0, 6});
    CHECK(refusal_of("hardtanh", [&] { functional::hardtanh(x, 2, 1); }) ==
          "min_val 2 must not be above max_val 1");
    CHECK_THROWS_AS(functional::relu6(tenon::zeros({2}, tenon::boolean)), tenon::TypeError);
  }

  TEST_CASE("activations keep NaN, and are what their limits are at infinity") {
    const Tensor x = tenon::tensor({std::nan(""), inf, -inf}, tenon::f64);
    const auto check = [&](const Tensor& y, double above, double below) {
      check_values(y, {3}, {std::nan(""), above, below});
    };
    check(functional::celu(x, 2), inf, -2);
    check(functional::logsigmoid(x), 0, -inf);
    check(functional::relu6(x), 6, 0);
    check(functional::hardtanh(x), 1, -1);
    check(functional::hardsigmoid(x), 1, 0);
    check(functional::hardswish(x), inf, 0);
    check(functional::hardshrink(x), inf, -inf);
    check(functional::softshrink(x), inf, -inf);
    check(functional::tanhshrink(x), inf, -inf);
    check(functional::threshold(x, 0, 5), inf, 5);
  }

  TEST_CASE("glu gates one half by the other") {
    for (const int64_t dim : {0, 1, 2, -1, -3}) {
      const Tensor x = numbers({4, 2, 6}, tenon::f64).transpose(0, 2);
      const Tensor halves = x.transpose(0, dim);
      const int64_t half = halves.size(0) / 2;
      const Tensor expected = halves.narrow(0, 0, half) * halves.narrow(0, half, half).sigmoid();
      check_close(functional::glu(x, dim), expected.transpose(0, dim), 1e-15);
    }
    CHECK(functional::glu(tenon::zeros({0, 2})).sizes() == std::vector<int64_t>{0, 1});
    CHECK(refusal_of("glu", [] {
            functional::glu(tenon::zeros({2, 3}));
          }) == "the size of dimension -1 must be even, got shape [2, 3]");
    CHECK(refusal_of("glu", [] { functional::glu(tenon::zeros({})); }) ==
          "'input' must have at least 1 dimension, got shape []");
    CHECK_THROWS_AS(functional::glu(tenon::zeros({2, 4}), 2), tenon::IndexError);
  }

  TEST_CASE("prelu has a slope for all or for each channel") {
    const Tensor x = tenon::tensor({{1.0, -2.0}, {-3.0, 4.0}}, tenon::f64);
    const Tensor slopes = tenon::tensor({0.5, 0.1}, tenon::f64).requires_grad_();
    const Tensor y = functional::prelu(x, slopes);
    check_values(y.detach(), {2, 2}, {1, -0.2, -1.5, 4}, 1e-15);
    y.sum().backward();
    check_values(slopes.grad(), {2}, {-3, -2});
    check_values(functional::prelu(x, tenon::tensor(2.0, tenon::f64)), {2, 2}, {1, -4, -6, 4});
    check_values(functional::prelu(x.select(0, 0), tenon::tensor({2.0}, tenon::f64)), {2}, {1, -4});
    const Tensor slope = tenon::tensor({0.5}, tenon::f64).requires_grad_();
    functional::prelu(tenon::tensor({inf}, tenon::f64), slope).sum().backward();
    check_values(slope.grad(), {1}, {0});
    CHECK(
        refusal_of("prelu", [&] { functional::prelu(x, tenon::ones({3}, tenon::f64)); }) ==
        "'weight' must have 1 element or the 2 channels of 'input' of shape [2, 2], got shape [3]");
    CHECK_THROWS_AS(functional::prelu(x, tenon::ones({2})), tenon::TypeError);
  }

  TEST_CASE("activations refuse settings that have no meaning") {
    const Tensor x = tenon::ones({2});
    CHECK(refusal_of("celu", [&] { functional::celu(x, 0); }) ==
          "alpha must not be 0; relu() is the limit");
    CHECK(refusal_of("gelu", [&] { gelu_as(x, "erf"); }) ==
          "approximate is 'erf', expected 'none' or 'tanh'");
    CHECK(refusal_of("softshrink", [&] { functional::softshrink(x, -1); }) ==
          "lambd must be 0 or more, got -1");
  }

  TEST_CASE("gelu of f32 is within 4 units of its argument's last place") {
    std::vector<double> at = {-1e30, -100, -5.6, 5.6, 100, 1e30};
    for (int i = -700; i <= 700; ++i) at.push_back(i * 0.0099);
    const Tensor x = tenon::from_range(at.begin(), at.end()).to(tenon::f32);
    const std::vector<double> given = x.to_vector<double>(),
                              found = functional::gelu(x).to_vector<double>();
    for (size_t i = 0; i < given.size(); ++i) {
      CAPTURE(given[i]);
      const double exact = given[i] * 0.5 * std::erfc(-given[i] / std::sqrt(2.0));
      CHECK(std::abs(found[i] - exact) <= std::abs(given[i]) * std::ldexp(4.5, -24));
      if (given[i] < -5.55) CHECK(found[i] == 0);
      if (given[i] > 5.55) CHECK(found[i] == given[i]);
    }
  }

  TEST_CASE("activations of an element do not depend on its place in the row") {
    for (const auto& op : std::vector<std::function<Tensor(const Tensor&)>>{
             [](const Tensor& x) { return functional::gelu(x); },
             [](const Tensor& x) { return functional::silu(x); },
             [](const Tensor& x) { return functional::softplus(x); },
             [](const Tensor& x) { return functional::elu(x); },
             [](const Tensor& x) { return tenon::nn::grad::gelu(tenon::ones_like(x), x); },
             [](const Tensor& x) { return tenon::nn::grad::gelu_tanh(tenon::ones_like(x), x); },
             [](const Tensor& x) { return tenon::nn::grad::mish(tenon::ones_like(x), x); },
             [](const Tensor& x) { return tenon::nn::grad::silu(tenon::ones_like(x), x); }}) {
      for (const DType dtype : {tenon::f32, tenon::f64}) {
        const Tensor x = numbers({499}, dtype) * 6, whole = op(x);
        for (const int64_t count : {1, 3, 15}) {
          for (int64_t from = 0; from + count <= 499; from += count)
            REQUIRE(op(x.narrow(0, from, count)).to_vector<double>() ==
                    whole.narrow(0, from, count).to_vector<double>());
        }
      }
    }
  }

  TEST_CASE("gradients of activations stay finite far from zero") {
    for (const auto& op : std::vector<std::function<Tensor(const Tensor&)>>{
             [](const Tensor& x) { return functional::softplus(x); },
             [](const Tensor& x) { return functional::elu(x); },
             [](const Tensor& x) { return functional::gelu(x); },
             [](const Tensor& x) { return functional::celu(x, 0.5); },
             [](const Tensor& x) { return functional::mish(x); },
             [](const Tensor& x) { return -functional::logsigmoid(-x); },
             [](const Tensor& x) { return functional::hardswish(x); },
             [](const Tensor& x) { return functional::silu(x); }}) {
      const Tensor x = tenon::tensor({800.0, -80.0}, tenon::f64).requires_grad_();
      tenon::GradientOptions options;
      options.create_graph = true;
      const Tensor first = tenon::gradients({op(x).sum()}, {x}, options)[0];
      check_close(first.to_vector<double>(), {1, 0}, 1e-9);
      check_close(tenon::gradients({first.sum()}, {x})[0].to_vector<double>(), {0, 0}, 1e-9);
    }
  }

  TEST_CASE("dropout zeroes elements with its probability and scales the others") {
    tenon::seed_generator(1);
    const Tensor x = tenon::ones({100, 1000}).requires_grad_();
    const Tensor y = functional::dropout(x, 0.3);
    int64_t zeros = 0;
    for (const float value : y.to_vector<float>()) {
      if (value == 0)
        ++zeros;
      else
        CHECK(value == doctest::Approx(1 / 0.7));
    }
    CHECK(std::abs(static_cast<double>(zeros) / 100000 - 0.3) < 0.01);
    y.sum().backward();
    CHECK(x.grad().to_vector<float>() == y.to_vector<float>());
    tenon::seed_generator(1);
    CHECK(functional::dropout(x, 0.3).to_vector<float>() == y.to_vector<float>());
    CHECK(functional::dropout(x, 0.3).to_vector<float>() != y.to_vector<float>());
    CHECK(functional::dropout(x, 0.3, false).to_vector<float>() == x.to_vector<float>());
    CHECK(functional::dropout(x, 0).to_vector<float>() == x.to_vector<float>());
    CHECK(functional::dropout(x, 1).sum().item() == 0);
    CHECK(refusal([&] { functional::dropout(x, 1.5); }) ==
          "dropout(): p must be a probability, between 0 and 1, got 1.500000");
  }

  TEST_CASE("F-086: a module without parameters is the op of its name, for its attributes") {
    const std::pair<const char*, const char*> pairs[] = {{"CELU", "celu"},
                                                         {"ELU", "elu"},
                                                         {"GELU", "gelu"},
                                                         {"Hardshrink", "hardshrink"},
                                                         {"Hardsigmoid", "hardsigmoid"},
                                                         {"Hardswish", "hardswish"},
                                                         {"Hardtanh", "hardtanh"},
                                                         {"LeakyReLU", "leaky_relu"},
                                                         {"LogSigmoid", "logsigmoid"},
                                                         {"Mish", "mish"},
                                                         {"ReLU6", "relu6"},
                                                         {"SELU", "selu"},
                                                         {"SiLU", "silu"},
                                                         {"Softplus", "softplus"},
                                                         {"Softshrink", "softshrink"},
                                                         {"Softsign", "softsign"},
                                                         {"Tanhshrink", "tanhshrink"}};
    for (const auto& [name, function] : pairs) {
      CAPTURE(std::string(name));
      const Tensor x = (numbers({3, 7}) * 4).requires_grad_(), y = x.detach().requires_grad_();
      const Tensor by_module = tenon::create_module(
                       tenon::Json::parse(std::string("{\"type\": \"") + name + "\"}"))(x),
                   by_op = tenon::Op(std::string("nn.functional.") + function).call<Tensor>(y);
      CHECK(by_module.to_vector<float>() == by_op.to_vector<float>());
      CHECK(by_module.grad_fn().name() == by_op.grad_fn().name());
      by_module.sum().backward();
      by_op.sum().backward();
      CHECK(x.grad().to_vector<float>() == y.grad().to_vector<float>());
    }
    const Tensor x = numbers({3, 7});
    const tenon::Module steep =
        tenon::create_module(tenon::Json::parse(R"({"type": "LeakyReLU", "negative_slope": 0.5})"));
    CHECK(steep(x).to_vector<float>() == functional::leaky_relu(x, 0.5).to_vector<float>());
  }

  TEST_CASE("embedding takes rows by index, and no gradient for the padding") {
    const Tensor table = numbers({5, 3}).requires_grad_();
    const Tensor index = tenon::tensor({{0, 4}, {4, 2}});
    const Tensor rows = functional::embedding(index, table, -1);
    CHECK(rows.sizes() == std::vector<int64_t>{2, 2, 3});
    check_close(rows.select(0, 1), table.index_select(0, tenon::tensor({4, 2})).detach());
    rows.sum().backward();
    check_values(table.grad(), {5, 3}, {1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0});
    const Tensor other = numbers({5, 3}).requires_grad_();
    functional::embedding(index.to(tenon::i32), other).sum().backward();
    check_values(other.grad(), {5, 3}, {1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 2, 2, 2});
    CHECK(functional::embedding(tenon::zeros({0}, tenon::i64), table).sizes() ==
          std::vector<int64_t>{0, 3});
    CHECK(refusal([&] {
            functional::embedding(tenon::tensor({1, 5}), table);
          }) == "embedding(): index 5 at position 1 is out of range for a table of 5 rows");
    CHECK_THROWS_AS(functional::embedding(tenon::tensor({-1}), table), tenon::IndexError);
    CHECK_THROWS_AS(functional::embedding(tenon::tensor({1.0}), table), tenon::TypeError);
    CHECK_THROWS_AS(functional::embedding(tenon::tensor({1}), table, 5), tenon::IndexError);
    CHECK_THROWS_AS(functional::embedding(tenon::tensor({1}), tenon::zeros({3})),
                    tenon::ValueError);
  }
}
