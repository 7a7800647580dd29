// Every differentiable elementwise op against central differences: first order, second order,
// forward mode.
#include <cctype>
#include <limits>

#include <tenon/gradcheck.hpp>

#include "../compare.hpp"
#include "gradient_cases.hpp"

using namespace compare;

namespace {

using List = const std::vector<Tensor>&;

struct Case {
  std::string op;
  std::function<Tensor(List)> call;
  std::vector<Tensor> inputs;
};

// Numbers in (low, high) as an input of a check.
Tensor between(double low, double high, const std::vector<int64_t>& shape, uint64_t seed = 1) {
  return (numbers(shape, tenon::f64, seed) * ((high - low) / 2) + (high + low) / 2)
      .detach()
      .requires_grad_();
}

std::vector<Case> cases() {
  std::vector<Case> list;
  using Unary = Tensor (*)(const Tensor&, const Tensor&);
  const auto unary = [&](const char* op, Unary call, double low, double high) {
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 3}, {}, {0, 2}}) {
      list.push_back(
          {op, [call](List in) { return call(in[0], {}); }, {between(low, high, shape)}});
    }
    list.push_back(
        {op, [call](List in) { return call(in[0].t(), {}); }, {between(low, high, {2, 3}, 4)}});
  };
  unary("abs", tenon::abs, -2, -0.1);
  unary("neg", tenon::neg, -2, 2);
  unary("square", tenon::square, -2, 2);
  unary("sqrt", tenon::sqrt, 0.5, 4);
  unary("rsqrt", tenon::rsqrt, 0.5, 4);
  unary("reciprocal", tenon::reciprocal, 0.5, 4);
  unary("exp", tenon::exp, -2, 2);
  unary("exp2", tenon::exp2, -2, 2);
  unary("expm1", tenon::expm1, -2, 2);
  unary("log", tenon::log, 0.3, 4);
  unary("log2", tenon::log2, 0.3, 4);
  unary("log10", tenon::log10, 0.3, 4);
  unary("log1p", tenon::log1p, -0.5, 4);
  unary("sin", tenon::sin, -3, 3);
  unary("cos", tenon::cos, -3, 3);
  unary("tan", tenon::tan, -1, 1);
  unary("asin", tenon::asin, -0.8, 0.8);
  unary("acos", tenon::acos, -0.8, 0.8);
  unary("atan", tenon::atan, -2, 2);
  unary("sinh", tenon::sinh, -2, 2);
  unary("cosh", tenon::cosh, -2, 2);
  unary("tanh", tenon::tanh, -2, 2);
  unary("erf", tenon::erf, -2, 2);
  unary("erfc", tenon::erfc, -2, 2);
  unary("erfinv", tenon::erfinv, -0.9, 0.9);
  unary("lgamma", tenon::lgamma, 0.3, 4);
  unary("lgamma", tenon::lgamma, -0.8, -0.2);
  unary("digamma", tenon::digamma, 0.3, 4);
  unary("digamma", tenon::digamma, -1.8, -1.2);
  unary("i0", tenon::i0, -3, 3);
  unary("i1", tenon::i1, -3, 3);
  unary("asinh", tenon::asinh, -2, 2);
  unary("acosh", tenon::acosh, 1.2, 3);
  unary("atanh", tenon::atanh, -0.8, 0.8);
  unary("sinc", tenon::sinc, -2.3, 2.3);
  unary("sinc", tenon::sinc, -0.15, 0.15);
  for (const int64_t n : {0, 1, 4}) {
    list.push_back({"polygamma",
                    [n](List in) { return tenon::polygamma(n, in[0]); },
                    {between(0.5, 3, {2, 3})}});
  }
  list.push_back(
      {"logit", [](List in) { return tenon::logit(in[0]); }, {between(0.1, 0.9, {2, 3})}});
  list.push_back(
      {"logit", [](List in) { return tenon::logit(in[0], 0.2); }, {between(-0.3, 1.3, {2, 4})}});
  unary("frac", tenon::frac, 0.1, 0.9);
  unary("sigmoid", tenon::sigmoid, -3, 3);
  unary("relu", tenon::relu, 0.1, 2);
  unary("relu", tenon::relu, -2, -0.1);
  unary("floor", tenon::floor, 0.1, 0.9);
  unary("ceil", tenon::ceil, 0.1, 0.9);
  unary("round", tenon::round, 0.1, 0.4);
  unary("trunc", tenon::trunc, 0.1, 0.9);
  unary("sign", tenon::sign, 0.1, 2);

  using Binary = Tensor (*)(const tenon::Argument&, const tenon::Argument&, const Tensor&);
  const auto binary = [&](const char* op, Binary call, double low, double high) {
    const auto both = [call](List in) { return call(in[0], in[1], {}); };
    list.push_back({op, both, {between(low, high, {2, 3}), between(low, high, {3}, 2)}});
    list.push_back({op, both, {between(low, high, {}), between(low, high, {2, 1}, 2)}});
    list.push_back({op, both, {between(low, high, {0}), between(low, high, {1}, 2)}});
    list.push_back(
        {op, [call](List in) { return call(in[0], 0.7, {}); }, {between(low, high, {3})}});
    list.push_back(
        {op, [call](List in) { return call(0.7, in[0], {}); }, {between(low, high, {3})}});
    list.push_back(
        {op, [call](List in) { return call(in[0].t(), in[0], {}); }, {between(low, high, {2, 2})}});
  };
  const auto both_alpha = [](Tensor (*call)(const tenon::Argument&, const tenon::Argument&,
                                            const tenon::Scalar&, const Tensor&)) {
    return [call](List in) { return call(in[0], in[1], 0.5, {}); };
  };
  list.push_back({"add", both_alpha(tenon::add), {leaf({2, 3}), leaf({3}, 2)}});
  list.push_back({"sub", both_alpha(tenon::sub), {leaf({2, 3}), leaf({2, 1}, 2)}});
  list.push_back({"add", [](List in) { return 2 + in[0] + in[0]; }, {leaf({})}});
  list.push_back({"sub", [](List in) { return 2 - in[0]; }, {leaf({2})}});
  binary("mul", tenon::mul, -2, 2);
  binary("div", tenon::div, 0.5, 3);
  binary("pow", tenon::pow, 0.5, 2);
  binary("atan2", tenon::atan2, 0.2, 2);
  binary("hypot", tenon::hypot, 0.2, 2);
  binary("copysign", tenon::copysign, 0.2, 2);
  binary("logaddexp", tenon::logaddexp, -2, 2);
  binary("logaddexp2", tenon::logaddexp2, -2, 2);
  binary("xlogy", tenon::xlogy, 0.2, 2);
  for (const double exponent : {2.0, 3.0, -1.0, 0.0, 1.0}) {
    list.push_back(
        {"pow", [exponent](List in) { return in[0].pow(exponent); }, {between(-2, -0.5, {3})}});
  }
  list.push_back({"maximum",
                  [](List in) { return tenon::maximum(in[0], in[1]); },
                  {leaf({2, 3}), leaf({3}, 2)}});
  list.push_back({"minimum",
                  [](List in) { return tenon::minimum(in[0], in[1]); },
                  {leaf({2, 3}), leaf({3}, 2)}});
  list.push_back({"maximum", [](List in) { return tenon::maximum(in[0], 0.01); }, {leaf({5})}});
  list.push_back({"floor_divide",
                  [](List in) { return floor_divide(in[0], in[1]); },
                  {leaf({2, 3}), between(1.5, 2, {3}, 2)}});
  list.push_back({"remainder",
                  [](List in) { return tenon::remainder(in[0], in[1]); },
                  {between(3.2, 3.4, {2, 2}), between(1.1, 1.3, {2}, 2)}});
  list.push_back({"fmod",
                  [](List in) { return tenon::fmod(in[0], in[1]); },
                  {between(-3.4, -3.2, {2, 2}), between(1.1, 1.3, {2}, 2)}});
  list.push_back({"fmod", [](List in) { return tenon::fmod(7, in[0]); }, {between(2.1, 2.2, {3})}});
  for (const auto& op : {tenon::fmax, tenon::fmin}) {
    const char* name = op == static_cast<decltype(op)>(tenon::fmax) ? "fmax" : "fmin";
    list.push_back(
        {name, [op](List in) { return op(in[0], in[1], {}); }, {leaf({2, 3}), leaf({3}, 2)}});
    list.push_back({name, [op](List in) { return op(0.01, in[0], {}); }, {leaf({5})}});
  }
  list.push_back({"heaviside",
                  [](List in) { return tenon::heaviside(in[0] * 0, in[1]) + in[0]; },
                  {leaf({2, 3}), leaf({3}, 2)}});
  list.push_back({"positive", [](List in) { return tenon::positive(in[0]) * 2; }, {leaf({2, 3})}});
  list.push_back(
      {"nan_to_num", [](List in) { return tenon::nan_to_num(in[0]) * in[0]; }, {leaf({2, 3})}});
  list.push_back({"addcmul",
                  [](List in) { return tenon::addcmul(in[0], in[1], in[2], 0.5); },
                  {leaf({2, 3}), leaf({3}, 2), leaf({2, 1}, 3)}});
  list.push_back({"addcdiv",
                  [](List in) { return tenon::addcdiv(in[0], in[1], in[2], -0.5); },
                  {leaf({2, 3}), leaf({3}, 2), between(0.5, 2, {2, 1}, 3)}});
  list.push_back({"addcmul_",
                  [](List in) { return in[0].clone().addcmul_(in[1], in[2], 2); },
                  {leaf({2, 3}), leaf({3}, 2), leaf({}, 3)}});
  list.push_back({"addcdiv_",
                  [](List in) { return in[0].clone().addcdiv_(in[1], in[2]); },
                  {leaf({2, 3}), leaf({3}, 2), between(0.5, 2, {}, 3)}});
  list.push_back({"lerp",
                  [](List in) { return tenon::lerp(in[0], in[1], in[2]); },
                  {leaf({2, 3}), leaf({3}, 2), between(-0.5, 1.5, {2, 1}, 3)}});
  list.push_back({"lerp",
                  [](List in) { return tenon::lerp(in[0], in[1], 0.25); },
                  {leaf({2, 3}), leaf({3}, 2)}});
  list.push_back({"lerp_",
                  [](List in) { return in[0].clone().lerp_(in[1], 0.75); },
                  {leaf({2, 3}), leaf({3}, 2)}});
  list.push_back({"clamp", [](List in) { return in[0].clamp(-0.4, 0.4); }, {leaf({6})}});
  list.push_back({"clamp", [](List in) { return in[0].clamp(tenon::none, 0.1); }, {leaf({6})}});
  list.push_back({"clamp", [](List in) { return in[0].clamp(0.1); }, {leaf({6})}});

  const Tensor mask = numbers({2, 3}, tenon::f64, 9) > 0;
  list.push_back({"where",
                  [mask](List in) { return tenon::where(mask, in[0], in[1]); },
                  {leaf({2, 3}), leaf({1}, 2)}});
  list.push_back({"where", [mask](List in) { return tenon::where(mask, in[0], 2); }, {leaf({})}});
  list.push_back(
      {"masked_fill", [mask](List in) { return in[0].masked_fill(mask, 3); }, {leaf({2, 3})}});
  list.push_back({"sigmoid_backward",
                  [](List in) { return tenon::sigmoid_backward(in[0], in[1] * 3); },
                  {leaf({2, 3}), leaf({2, 3}, 2)}});
  list.push_back({"tanh_backward",
                  [](List in) { return tenon::tanh_backward(in[0], in[1] * 2); },
                  {leaf({2, 3}), leaf({2, 3}, 2)}});
  const tenon::Op erf_backward("erf_backward"), logaddexp_backward("logaddexp_backward");
  list.push_back({"erf_backward",
                  [erf_backward](List in) { return erf_backward(in[0], in[1]).tensor(); },
                  {leaf({2, 3}), leaf({2, 3}, 2)}});
  const tenon::Op atan2_backward("atan2_backward"), i1_backward("i1_backward");
  list.push_back(
      {"atan2_backward",
       [atan2_backward](List in) { return atan2_backward(in[0], in[1], in[2]).tensor(); },
       {leaf({2, 3}), leaf({2, 3}, 2), leaf({3}, 3)}});
  list.push_back({"i1_backward",
                  [i1_backward](List in) { return i1_backward(in[0], in[1]).tensor(); },
                  {leaf({2, 3}), leaf({2, 3}, 2)}});
  const tenon::Op asin_backward("asin_backward"), acosh_backward("acosh_backward"),
      exp_backward("exp_backward"), hypot_backward("hypot_backward");
  list.push_back(
      {"asin_backward",
       [asin_backward](List in) { return asin_backward(in[0], in[1].tanh() * 0.9).tensor(); },
       {leaf({2, 3}), leaf({2, 3}, 2)}});
  list.push_back(
      {"acosh_backward",
       [acosh_backward](List in) { return acosh_backward(in[0], in[1].square() + 1.5).tensor(); },
       {leaf({2, 3}), leaf({2, 3}, 2)}});
  list.push_back({"exp_backward",
                  [exp_backward](List in) { return exp_backward(in[0], in[1]).tensor(); },
                  {leaf({2, 3}), leaf({2, 3}, 2)}});
  list.push_back(
      {"hypot_backward",
       [hypot_backward](List in) { return hypot_backward(in[0], in[1], in[2]).tensor(); },
       {leaf({2, 3}), leaf({2, 3}, 2), leaf({3}, 3)}});
  const tenon::Op pow_backward("pow_backward");
  list.push_back({"pow_backward",
                  [pow_backward](List in) {
                    return pow_backward(in[0], in[1].square() + 0.5, in[2] * 3).tensor();
                  },
                  {leaf({2, 3}), leaf({2, 3}, 2), leaf({3}, 3)}});
  for (const bool to_base_2 : {false, true}) {
    list.push_back({"logaddexp_backward",
                    [logaddexp_backward, to_base_2](List in) {
                      return logaddexp_backward(in[0], in[1], in[2], to_base_2).tensor();
                    },
                    {leaf({2, 3}), leaf({2, 3}, 2), leaf({3}, 3)}});
  }
  list.push_back({"relu_backward",
                  [mask](List in) { return tenon::relu_backward(in[0], mask.to(tenon::f64)); },
                  {leaf({2, 3})}});

  // In-place ops change a copy whose history leads to the input.
  list.push_back({"add_",
                  [](List in) { return in[0].clone().add_(in[1], 0.5); },
                  {leaf({2, 3}), leaf({3}, 2)}});
  list.push_back(
      {"sub_", [](List in) { return in[0].clone().sub_(in[1], 2); }, {leaf({2, 3}), leaf({}, 2)}});
  list.push_back(
      {"mul_", [](List in) { return in[0].clone().mul_(in[1]); }, {leaf({2, 3}), leaf({3}, 2)}});
  list.push_back({"mul_", [](List in) { return (in[0] * 1).mul_(0.5); }, {leaf({2, 3})}});
  list.push_back({"div_",
                  [](List in) { return in[0].clone().div_(in[1]); },
                  {leaf({2, 3}), between(1, 2, {3}, 2)}});
  list.push_back({"relu_", [](List in) { return in[0].clone().relu_(); }, {leaf({2, 3})}});
  list.push_back({"copy_",
                  [](List in) { return (in[0] * 3).copy_(in[1]) * in[0]; },
                  {leaf({2, 3}), leaf({3}, 2)}});
  list.push_back({"fill_", [](List in) { return (in[0] * 3).fill_(2) * in[0]; }, {leaf({2, 3})}});
  list.push_back({"zero_", [](List in) { return (in[0] * 3).zero_() * in[0]; }, {leaf({2, 3})}});
  list.push_back(
      {"uniform_", [](List in) { return (in[0] * 3).uniform_(1, 1) * in[0]; }, {leaf({2, 3})}});
  list.push_back(
      {"normal_", [](List in) { return (in[0] * 3).normal_(1, 0) * in[0]; }, {leaf({2, 3})}});
  return list;
}

}  // namespace

std::set<std::string> elementwise_gradient_ops() {
  std::set<std::string> ops;
  for (const Case& c : cases()) ops.insert(c.op);
  return ops;
}

TEST_SUITE("math elementwise gradients") {
  TEST_CASE("gradients are right, of first and second order and in forward mode") {
    for (const Case& c : cases()) {
      CAPTURE(c.op);
      tenon::GradcheckOptions options;
      options.check_forward_ad = true;
      CHECK(tenon::gradcheck(c.call, c.inputs, options));
      CHECK(tenon::gradgradcheck(c.call, c.inputs));
      CHECK_NOTHROW(check_mixed_order(c.call, c.inputs));
    }
  }

  TEST_CASE("F-217 equal elements of tensors share the gradient, a number takes it all") {
    for (const auto& op : {tenon::maximum, tenon::minimum}) {
      const Tensor x = tenon::tensor({2.0}).requires_grad_();
      op(x, 2.0, {}).backward();
      CHECK(x.grad().to_vector<float>() == std::vector<float>{0});
      Tensor a = tenon::tensor({1.0, 2.0, 3.0}).requires_grad_(),
             b = tenon::tensor({3.0, 2.0, 1.0}).requires_grad_();
      op(a, b, {}).backward(tenon::ones({3}));
      CHECK((a.grad() + b.grad()).to_vector<float>() == std::vector<float>{1, 1, 1});
      CHECK(a.grad().to_vector<float>()[1] == 0.5f);
    }
  }

  TEST_CASE("corners: sinc at 0, xlogy at 0, equal infinities of logaddexp, fmax of equals") {
    const Tensor zero = tenon::zeros({1}, tenon::f64).requires_grad_();
    tenon::GradientOptions graph;
    graph.create_graph = true;
    const Tensor slope = tenon::gradients({tenon::sinc(zero).sum()}, {zero}, graph)[0];
    CHECK(slope.item() == 0);
    constexpr double pi = 3.14159265358979323846;
    CHECK(tenon::gradients({slope.sum()}, {zero})[0].item() == doctest::Approx(-pi * pi / 3));

    const auto gradients_of = [](const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                                 double a, double b) {
      const Tensor x = tenon::full({}, a, tenon::f64).requires_grad_(),
                   y = tenon::full({}, b, tenon::f64).requires_grad_();
      f(x, y).backward();
      return std::vector<double>{x.grad().item(), y.grad().item()};
    };
    const double inf = std::numeric_limits<double>::infinity();
    using Pair = std::vector<double>;
    const auto xlogy = [](const Tensor& x, const Tensor& y) { return tenon::xlogy(x, y); };
    CHECK(gradients_of(xlogy, 0, 0)[0] == 0);
    CHECK(gradients_of(xlogy, 0, 1) == Pair{0, 0});
    const auto log_sum = [](const Tensor& x, const Tensor& y) { return tenon::logaddexp(x, y); };
    CHECK(gradients_of(log_sum, inf, inf) == Pair{0.5, 0.5});
    CHECK(gradients_of(log_sum, -inf, -inf) == Pair{0.5, 0.5});
    CHECK(gradients_of(log_sum, 1, -inf) == Pair{1, 0});
    const auto larger = [](const Tensor& x, const Tensor& y) { return tenon::fmax(x, y); };
    CHECK(gradients_of(larger, 2, 2) == Pair{1, 0});
    CHECK(gradients_of(larger, std::nan(""), 2) == Pair{0, 1});
    CHECK(gradients_of(larger, 2, std::nan("")) == Pair{1, 0});
  }

  TEST_CASE("an overwritten part of a tensor gets no gradient, the rest keeps its own") {
    const Tensor x = leaf({2, 3});
    const Tensor y = x * 3;
    y.select(0, 0).zero_();
    y.select(0, 1).copy_(x.select(0, 0));
    y.sum().backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{1, 1, 1, 0, 0, 0});
  }

  TEST_CASE("corners: relu at 0, powers at 0, saturated sigmoid and tanh, bounds of clamp") {
    const auto gradient = [](const std::function<Tensor(const Tensor&)>& f, double at) {
      Tensor x = tenon::full({}, at, tenon::f64).requires_grad_();
      f(x).backward();
      return x.grad().item();
    };
    constexpr double inf = std::numeric_limits<double>::infinity();
    CHECK(gradient([](const Tensor& x) { return x.relu(); }, 0) == 0);
    CHECK(gradient([](const Tensor& x) { return x.pow(0); }, 0) == 0);
    CHECK(gradient([](const Tensor& x) { return x.pow(1); }, 0) == 1);
    CHECK(gradient([](const Tensor& x) { return x.pow(2); }, 0) == 0);
    CHECK(gradient([](const Tensor& x) { return tenon::pow(0, x); }, 2) == 0);
    CHECK(gradient([](const Tensor& x) { return x.abs(); }, 0) == 0);
    CHECK(gradient([](const Tensor& x) { return x.clamp(0, 1); }, 0) == 1);
    CHECK(gradient([](const Tensor& x) { return x.clamp(0, 1); }, 1) == 1);
    CHECK(gradient([](const Tensor& x) { return x.clamp(0, 1); }, 1.5) == 0);
    for (const double x : {inf, -inf, 1000.0, -1000.0}) {
      CHECK(gradient([](const Tensor& t) { return t.sigmoid(); }, x) == 0);
      CHECK(gradient([](const Tensor& t) { return t.tanh(); }, x) == 0);
    }
  }

  TEST_CASE("the slope of a negative number's power has the sign of its exponent, rounded or not") {
    const auto slope = [](const tenon::Argument& exponent, tenon::DType dtype) {
      const Tensor x = tenon::full({}, -1, dtype).requires_grad_();
      tenon::pow(x, exponent).backward();
      return x.grad().item();
    };
    // The numbers from which on the predecessor of an even one is not of the dtype.
    const std::pair<tenon::DType, double> limits[] = {
        {tenon::bf16, 0x1p8}, {tenon::f16, 0x1p11}, {tenon::f32, 0x1p24}, {tenon::f64, 0x1p53}};
    for (const auto& [dtype, limit] : limits) {
      for (const double step : {-3., -2., -1., 0., 2., 4., 6., 8.}) {
        for (const double e : {limit + step, -limit - step}) {
          CAPTURE(e);
          const double expected = std::fmod(e, 2) == 0 ? -e : e;
          CHECK(slope(tenon::full({}, e, dtype), dtype) == expected);
          CHECK(slope(e, dtype) == expected);
        }
      }
    }
    // Only powers that are whole are real, also where e - 1 is rounded to a whole number.
    for (const double e : {1e-9, -1e-9, -1 - 0x1p-23, 0.5, 2.5}) {
      CHECK(std::isnan(slope(tenon::full({}, e, tenon::f32), tenon::f32)));
      CHECK(std::isnan(slope(e, tenon::f32)));
    }
    const Tensor x = tenon::full({}, -3, tenon::f64).requires_grad_();
    tenon::GradientOptions options;
    options.create_graph = true;
    const Tensor first =
        tenon::gradients({tenon::pow(x, tenon::full({}, 4, tenon::f64))}, {x}, options)[0];
    CHECK(first.item() == -108);
    CHECK(tenon::gradients({first}, {x})[0].item() == 108);
  }

  TEST_CASE("comparisons and constants leave no history") {
    const Tensor x = leaf({3});
    for (const Tensor& y :
         {x < 0, x.isnan(), x.logical_not(), zeros_like(x), ones_like(x), full_like(x, 3)}) {
      CHECK_FALSE(y.requires_grad());
    }
  }
}
