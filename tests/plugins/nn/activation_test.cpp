// Activations, dropout and embedding: values, extremes, refusals.
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

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("activations agree with their definition") {
    check_pointwise([](const Tensor& x) { return functional::gelu(x); },
                    [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); });
    check_pointwise([](const Tensor& x) { return functional::silu(x); },
                    [](double x) { return x / (1 + std::exp(-x)); });
    check_pointwise([](const Tensor& x) { return functional::softplus(x, 2, 5); },
                    [](double x) { return 2 * x > 5 ? x : std::log1p(std::exp(2 * x)) / 2; });
    check_pointwise([](const Tensor& x) { return functional::leaky_relu(x, 0.1); },
                    [](double x) { return x > 0 ? x : 0.1 * x; });
    check_pointwise([](const Tensor& x) { return functional::elu(x, 0.5); },
                    [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); });
    check_values(functional::softplus(tenon::tensor({1000.0, -1000.0})), {2}, {1000, 0});
    check_values(functional::elu(tenon::tensor({inf, -inf})), {2}, {inf, -1});
  }

  TEST_CASE("activations of an element do not depend on its place in the row") {
    for (const auto& op : std::vector<std::function<Tensor(const Tensor&)>>{
             [](const Tensor& x) { return functional::gelu(x); },
             [](const Tensor& x) { return functional::silu(x); },
             [](const Tensor& x) { return functional::softplus(x); },
             [](const Tensor& x) { return functional::elu(x); },
             [](const Tensor& x) { return tenon::nn::grad::gelu(tenon::ones_like(x), x); },
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
