// Activations where they saturate, losses of what has no probability, what masks leave out, and
// sizes that are calculated from factors.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../derivatives.hpp"

using namespace compare;
using namespace derivatives;
namespace functional = tenon::nn::functional;
using tenon::f32, tenon::f64;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Long pi = 3.14159265358979323846264338327950288L;

struct Three {
  Long first, second, third;
};
// The derivatives of x g(x) by those of g.
Three times_x(Long x, Long g, const Three& d) {
  return {g + x * d.first, 2 * d.first + x * d.second, 3 * d.second + x * d.third};
}
Three mish(Long x) {
  const Logistic l = logistic(x);
  const Long s = l.value, soft = std::log1p(std::exp(-std::fabs(x))) + std::max(x, 0.0L);
  const Long bent = std::tanh(soft), slope = 4 * logistic(2 * soft).first;
  const Long inner = l.first - 2 * bent * s * s;  // factor of the second derivative
  const Three d = {
      slope * s, slope * inner,
      slope * (-2 * bent * s * inner + l.second - 2 * slope * s * s * s - 4 * bent * s * l.first)};
  return times_x(x, bent, d);
}
Three gelu(Long x) {
  const Long density = std::exp(-x * x / 2) / std::sqrt(2 * pi);
  return {std::erfc(-x / std::sqrt(2.0L)) / 2 + x * density, density * (2 - x * x),
          density * (x * x * x - 4 * x)};
}
Three gelu_tanh(Long x) {
  const Long c = 2 * std::sqrt(2 / pi), a = 0.044715L;
  const Logistic l = logistic(c * (x + a * x * x * x));
  const Long v1 = c * (1 + 3 * a * x * x), v2 = 6 * a * c * x, v3 = 6 * a * c;
  return times_x(x, l.value,
                 {l.first * v1, l.second * v1 * v1 + l.first * v2,
                  l.third * v1 * v1 * v1 + 3 * l.second * v1 * v2 + l.first * v3});
}

struct Activation {
  const char* name;
  std::function<Tensor(const Tensor&)> call;
  Three (*exact)(Long);
  double least_f32;  // below it f32 is right to absolute precision alone
};
const Activation activations[] = {
    {"sigmoid", [](const Tensor& x) { return x.sigmoid(); },
     [](Long x) -> Three {
       const Logistic l = logistic(x);
       return {l.first, l.second, l.third};
     },
     -inf},
    {"tanh", [](const Tensor& x) { return x.tanh(); },
     [](Long x) -> Three {
       const Logistic l = logistic(2 * x);
       return {4 * l.first, 8 * l.second, 16 * l.third};
     },
     -inf},
    {"logsigmoid", [](const Tensor& x) { return functional::logsigmoid(x); },
     [](Long x) -> Three {
       const Logistic l = logistic(x);
       return {logistic(-x).value, -l.first, -l.second};
     },
     -inf},
    {"softplus", [](const Tensor& x) { return functional::softplus(x, 1.0, 705.0); },
     [](Long x) -> Three {
       const Logistic l = logistic(x);
       return {l.value, l.first, l.second};
     },
     -inf},
    {"silu", [](const Tensor& x) { return functional::silu(x); },
     [](Long x) {
       const Logistic l = logistic(x);
       return times_x(x, l.value, {l.first, l.second, l.third});
     },
     -inf},
    {"mish", [](const Tensor& x) { return functional::mish(x); }, mish, -inf},
    {"gelu", [](const Tensor& x) { return functional::gelu(x); }, gelu, -3},
    {"gelu_tanh",
     [](const Tensor& x) {
       return tenon::Op("nn.functional.gelu").call<Tensor>(x, tenon::arg("approximate") = "tanh");
     },
     gelu_tanh, -inf},
    {"elu", [](const Tensor& x) { return functional::elu(x); },
     [](Long x) -> Three {
       if (x > 0) return {1, 0, 0};
       return {std::exp(x), std::exp(x), std::exp(x)};
     },
     -inf},
    {"softsign", [](const Tensor& x) { return functional::softsign(x); },
     [](Long x) -> Three {
       const Long size = 1 + std::fabs(x), sign = (x > 0) - (x < 0);
       return {1 / (size * size), -2 * sign / (size * size * size),
               sign * sign * 6 / (size * size * size * size)};
     },
     -inf},
};

template <class T>
void check_activation(const Activation& op) {
  std::vector<T> at;
  for (const double x : {0.3, 1.5, 5.0, 12.0, 20.0, 25.0, 37.43, 40.41, 60.0, 80.0, 300.0, 700.0}) {
    if (sizeof(T) == 4 && x > 80) break;
    at.push_back(static_cast<T>(x));
    at.push_back(static_cast<T>(-x));
  }
  const Found<T> found = derivatives_of_call<T>(op.call, at, 3);
  for (size_t i = 0; i < at.size(); ++i) {
    if (sizeof(T) == 4 && static_cast<double>(at[i]) < op.least_f32) continue;
    const Three exact = op.exact(static_cast<Long>(at[i]));
    const double digits = sizeof(T) == 4 ? 2e-4 : 1e-11;
    check_derivative(op.name, at[i], found.first[i], exact.first, digits);
    check_derivative(op.name, at[i], found.forward[i], exact.first, digits);
    check_derivative(op.name, at[i], found.second[i], exact.second, digits);
    check_derivative(op.name, at[i], found.third[i], exact.third, digits);
  }
}

std::vector<double> gradient(const Tensor& loss, const Tensor& at) {
  return tenon::gradients({loss.sum()}, {at})[0].to_vector<double>();
}
Tensor input_of(const std::vector<double>& values) {
  return tenon::from_range(values.begin(), values.end()).requires_grad_();
}

// Attention of operands some of whose elements no query, or not each query, may read.
struct Attended {
  Tensor query, key, value, mask;
  bool is_causal = false;
};
std::vector<Tensor> leaves(const Attended& a, bool clean) {
  std::vector<Tensor> list;
  for (const Tensor* each : {&a.query, &a.key, &a.value}) {
    const Tensor x = each->detach();
    list.push_back((clean ? x.masked_fill(x.isfinite().logical_not(), 0) : x.clone())
                       .detach()
                       .requires_grad_());
  }
  return list;
}
Tensor attend(const Attended& a, const std::vector<Tensor>& in) {
  return functional::scaled_dot_product_attention(in[0], in[1], in[2], a.mask, 0.0, a.is_causal);
}
// Values, gradients, second derivatives and tangents as if there were zeros.
void check_unread(const Attended& a) {
  tenon::GradientOptions graph;
  graph.create_graph = true;
  const auto all = [&](bool clean) {
    const std::vector<Tensor> at = leaves(a, clean);
    const Tensor result = attend(a, at);
    const Tensor weights = numbers(result.sizes(), f64, 21);
    std::vector<Tensor> list = {result.detach()};
    for (const Tensor& g : tenon::gradients({(attend(a, at) * weights).sum()}, at))
      list.push_back(g);
    Tensor along;
    for (const Tensor& g : tenon::gradients({(result * weights).sum()}, at, graph)) {
      list.push_back(g.detach());
      const Tensor part = (g * numbers(g.sizes(), f64, 22)).sum();
      along = along.defined() ? along + part : part;
    }
    for (const Tensor& g : tenon::gradients({along}, at)) list.push_back(g);
    const tenon::DualLevel level;
    std::vector<Tensor> duals;
    for (const Tensor& x : at) duals.push_back(make_dual(x.detach(), numbers(x.sizes(), f64, 23)));
    list.push_back(unpack_dual(attend(a, duals)).tangent);
    return list;
  };
  const std::vector<Tensor> found = all(false), expected = all(true);
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    check_close(found[i], expected[i], 1e-12);
  }
}

}  // namespace

TEST_SUITE("plugins/nn/special_values") {
  TEST_CASE("derivatives of activations are right to relative precision where these saturate") {
    for (const Activation& op : activations) {
      check_activation<double>(op);
      check_activation<float>(op);
    }
  }

  TEST_CASE("activations of huge inputs, and their derivatives, are limits") {
    for (const Activation& op : activations) {
      CAPTURE(std::string(op.name));
      for (const DType dtype : {f32, f64}) {
        const double huge = dtype == f32 ? 1e30 : 1e200;
        for (const double at : {huge, -huge}) {
          CAPTURE(at);
          const Tensor x = tenon::tensor({at}, dtype).requires_grad_();
          Tensor y = op.call(x);
          CHECK(std::isfinite(y.item<double>()));
          tenon::GradientOptions graph;
          graph.create_graph = true;
          graph.allow_unused = true;
          for (int order = 1; order <= 3 && y.defined() && y.requires_grad(); ++order) {
            y = tenon::gradients({y.sum()}, {x}, graph)[0];
            if (y.defined()) CHECK(std::isfinite(y.item<double>()));
          }
        }
      }
    }
  }

  TEST_CASE("what has the probability 0 has no part in a divergence") {
    const Tensor input = input_of({-inf, -1, -2});
    const Tensor target = tenon::tensor({0.0, 0.4, 0.6}, f64);
    const double rest = 0.4 * (std::log(0.4) + 1) + 0.6 * (std::log(0.6) + 2);
    const auto loss = [](const Tensor& x, const Tensor& t, bool log_target) {
      return functional::kl_div(x, t, "sum", log_target);
    };
    CHECK(loss(input, target, false).item<double>() == doctest::Approx(rest));
    check_close(gradient(loss(input, target, false), input), {0, -0.4, -0.6}, 1e-12);
    for (const Tensor& x : {input, input_of({-3, -1, -2})}) {
      const Tensor log = target.log().detach().requires_grad_();
      CHECK(loss(x, log, true).item<double>() == doctest::Approx(rest));
      check_close(gradient(loss(x, log, true), x), {0, -0.4, -0.6}, 1e-12);
      check_close(gradient(loss(x, log, true), log),
                  {0, 0.4 * (std::log(0.4) + 2), 0.6 * (std::log(0.6) + 3)}, 1e-12);
    }
  }

  TEST_CASE("a masked logit counts for nothing in a cross entropy whose target, or weight, is 0") {
    const Tensor scores = tenon::tensor({{-inf, 1.0, 2.0}}, f64).requires_grad_();
    const double sum = std::exp(1.0) + std::exp(2.0);
    const double expected = 0.3 * (std::log(sum) - 1) + 0.7 * (std::log(sum) - 2);
    const Tensor target = tenon::tensor({{0.0, 0.3, 0.7}}, f64);
    const Tensor loss = functional::cross_entropy(scores, target);
    CHECK(loss.item<double>() == doctest::Approx(expected));
    check_close(gradient(loss, scores), {0, std::exp(1.0) / sum - 0.3, std::exp(2.0) / sum - 0.7},
                1e-12);
    // Without a weight a smoothed class is not read; with one it is infinitely wrong.
    const auto smoothed = [&](const std::vector<double>& weight) {
      const Tensor weights = tenon::from_range(weight.begin(), weight.end());
      return functional::cross_entropy(scores, tenon::tensor({2}), weights, -100, "mean", 0.3)
          .item<double>();
    };
    CHECK(std::isfinite(smoothed({0, 1, 1})));
    CHECK(smoothed({1, 1, 1}) == inf);
    const Tensor log = tenon::tensor({{-inf, -1.0}}, f64);
    CHECK(functional::nll_loss(log, tenon::tensor({0}), tenon::tensor({0.0, 1.0}, f64), -100, "sum")
              .item() == 0);
  }

  TEST_CASE("binary cross entropy with logits of any size is that of their sigmoid") {
    const auto loss = [](const Tensor& x, double t) {
      return functional::binary_cross_entropy_with_logits(x, tenon::full_like(x, t).detach(), {},
                                                          "none");
    };
    const std::vector<double> at = {-inf, -700, -37.43, -1, 1, 37.43, 700, inf};
    for (const double t : {0.0, 0.25, 1.0}) {
      CAPTURE(t);
      const Tensor x = input_of(at);
      const std::vector<double> found = loss(x, t).to_vector<double>(),
                                slopes = gradient(loss(x, t), x);
      for (size_t i = 0; i < at.size(); ++i) {
        CAPTURE(at[i]);
        const auto z = static_cast<Long>(at[i]), target = static_cast<Long>(t);
        const auto soft = [](Long v) {
          return std::max(v, 0.0L) + std::log1p(std::exp(-std::fabs(v)));
        };
        const Long exact =
            (target == 0 ? 0 : target * soft(-z)) + (target == 1 ? 0 : (1 - target) * soft(z));
        check_derivative("loss", at[i], found[i], exact);
        if (std::isfinite(at[i]))
          check_derivative("slope", at[i], slopes[i],
                           (1 - target) * logistic(z).value - target * logistic(-z).value);
        CHECK_FALSE(std::isnan(slopes[i]));
      }
    }
  }

  TEST_CASE("keys and values that are masked out are not read, for whatever is differentiated") {
    for (const double bad : {kNan, inf}) {
      const Tensor row = tenon::full({2, 1, 3}, bad, f64);
      Attended a;
      a.query = numbers({2, 4, 3}, f64, 1);
      a.key = tenon::cat({numbers({2, 2, 3}, f64, 2), row, numbers({2, 2, 3}, f64, 3)}, 1);
      a.value = tenon::cat({numbers({2, 2, 3}, f64, 4), row, numbers({2, 2, 3}, f64, 5)}, 1);
      a.mask = tenon::tensor({true, true, false, true, true});
      check_unread(a);
      a.mask = tenon::tensor({0.5, -1.0, -inf, 0.1, 0.0}, f64);
      check_unread(a);
      // The last key and value are past every query.
      a.key = a.key.narrow(1, 0, 3);
      a.value = a.value.narrow(1, 0, 3);
      a.query = a.query.narrow(1, 0, 2);
      a.mask = Tensor();
      a.is_causal = true;
      check_unread(a);
    }
  }

  TEST_CASE("a query that reads NaN has NaN, and leaves other queries and their keys alone") {
    Attended a;
    a.query = numbers({3, 2}, f64, 1);
    a.key = tenon::cat({numbers({2, 2}, f64, 2), tenon::full({1, 2}, kNan, f64)});
    a.value = numbers({3, 2}, f64, 3);
    // The last query reads the last key, and nothing else does.
    a.mask = tenon::tensor({{true, false, false}, {true, true, false}, {false, false, true}});
    for (const bool create_graph : {false, true}) {
      const std::vector<Tensor> at = leaves(a, false);
      const Tensor result = attend(a, at);
      CHECK(result.narrow(0, 0, 2).isfinite().all().item<bool>());
      CHECK(result.narrow(0, 2, 1).isnan().all().item<bool>());
      tenon::GradientOptions graph;
      graph.create_graph = create_graph;
      const std::vector<Tensor> gradients = tenon::gradients({result.sum()}, at, graph);
      for (const Tensor& gradient : gradients)
        CHECK(gradient.narrow(0, 0, 2).isfinite().all().item<bool>());
    }
  }

  TEST_CASE("scores with an ignored target, and the padding of an embedding, are not read") {
    const Tensor scores = tenon::tensor({{kNan, 1.0}, {0.5, 2.0}}, f64).requires_grad_();
    const Tensor target = tenon::tensor({-100, 1});
    const Tensor loss = functional::cross_entropy(scores, target);
    CHECK(std::isfinite(loss.item<double>()));
    const std::vector<double> found = gradient(loss, scores);
    CHECK(found[0] == 0);
    CHECK(found[1] == 0);
    const Tensor table = numbers({3, 2}, f64).detach().requires_grad_();
    const Tensor looked_up = functional::embedding(tenon::tensor({1, 2}), table, 1);
    const Tensor weights = tenon::tensor({{kNan, kNan}, {1.0, 1.0}}, f64);
    check_close(gradient(looked_up * weights, table), {0, 0, 0, 0, 1, 1}, 0);
  }

  TEST_CASE("an element without weight is not read by interpolation") {
    const Tensor row = tenon::tensor({1.0, inf, 3.0, 4.0}, f64).reshape({1, 1, 4});
    const auto to = [&](const char* mode, int64_t size, bool aligned) {
      return functional::interpolate(row, std::vector<int64_t>{size}, tenon::none, mode, aligned)
          .reshape({-1})
          .to_vector<double>();
    };
    check_close(to("linear", 4, true), {1, inf, 3, 4}, 0);
    check_close(to("linear", 4, false), {1, inf, 3, 4}, 0);
    check_close(to("linear", 2, true), {1, 4}, 0);
    check_close(to("linear", 7, true), {1, inf, inf, inf, 3, 3.5, 4}, 0);
  }

  TEST_CASE("a pixel without a share is not read by sampling at positions") {
    const Tensor image = tenon::tensor({{1.0, inf}, {3.0, 4.0}}, f64).reshape({1, 1, 2, 2});
    const Tensor grid = tenon::tensor({{-1.0, -1.0}, {1.0, -1.0}, {-1.0, 0.0}}, f64);
    const Tensor found =
        functional::grid_sample(image, grid.reshape({1, 1, 3, 2}), "bilinear", "zeros", true);
    check_values(found.flatten(), {3}, {1, inf, 2});
  }

  TEST_CASE("what depends on directions and distances scales, whatever their squares are") {
    struct Row {
      const char* name;
      std::function<Tensor(const Tensor&, const Tensor&)> call;
      int degree;
    };
    const Row rows[] = {
        {"cosine_similarity",
         [](const Tensor& x, const Tensor& y) {
           return functional::cosine_similarity(x, y, 1, 0.0);
         },
         0},
        {"normalize",
         [](const Tensor& x, const Tensor&) { return functional::normalize(x, 2.0, 1, 0.0); }, 0},
        {"normalize",
         [](const Tensor& x, const Tensor&) { return functional::normalize(x, 3.0, 1, 0.0); }, 0},
        {"cdist", [](const Tensor& x, const Tensor& y) { return tenon::cdist(x, y); }, 1},
        {"cdist", [](const Tensor& x, const Tensor& y) { return tenon::cdist(x, y, 3.0); }, 1},
        {"pairwise_distance",
         [](const Tensor& x, const Tensor& y) {
           return functional::pairwise_distance(x, y, 2.0, 0.0);
         },
         1},
    };
    const auto slope = [](const Row& row, const Tensor& x, const Tensor& y) {
      const Tensor at = x.detach().requires_grad_();
      const Tensor result = row.call(at, y);
      return tenon::gradients({(result * numbers(result.sizes(), x.dtype(), 5)).sum()}, {at})[0];
    };
    for (const Row& row : rows) {
      for (const tenon::DType dtype : {f32, f64}) {
        for (const int power :
             dtype == f32 ? std::vector<int>{-100, 100} : std::vector<int>{-700, 700}) {
          CAPTURE(std::string(row.name));
          CAPTURE(power);
          const double scale = std::ldexp(1.0, power), back = std::ldexp(1.0, -power);
          const double tolerance = dtype == f32 ? 1e-5 : 1e-12;
          const Tensor x = numbers({3, 4}, dtype, 11), y = numbers({3, 4}, dtype, 12);
          check_close(row.call(x * scale, y * scale) * (row.degree == 0 ? 1 : back), row.call(x, y),
                      tolerance);
          check_close(slope(row, x * scale, y * scale) * (row.degree == 0 ? scale : 1),
                      slope(row, x, y), tolerance);
        }
      }
    }
  }

  TEST_CASE("a factor that leads to a size leads to it, however its quotient was rounded") {
    const auto size = [](int64_t from, double factor) {
      return functional::interpolate(tenon::zeros({1, 1, from}), tenon::none,
                                     std::vector<double>{factor})
          .size(2);
    };
    CHECK(size(88, 120.0 / 88) == 120);
    CHECK(size(88, 120.4 / 88) == 120);
    CHECK(size(88, 119.99 / 88) == 119);
    for (int64_t from = 1; from < 130; from += 3) {
      for (int64_t to = 1; to < 130; to += 2) {
        CAPTURE(from);
        CAPTURE(to);
        CHECK(size(from, static_cast<double>(to) / static_cast<double>(from)) == to);
      }
    }
  }
}
