// Derivatives at 0, at numbers whose squares overflow or vanish, where functions saturate, and at
// infinities: backward, forward and second order, against long double.
#include <cmath>
#include <complex>
#include <limits>

#include "../derivatives.hpp"

using namespace compare;
using namespace derivatives;
using tenon::c128;
using tenon::c64;
using tenon::f32;
using tenon::f64;

namespace {

constexpr Long pi = 3.14159265358979323846264338327950288L;

Long slope_of_sinc(Long x) {
  if (std::fabs(x) < 1e-3L) return -pi * pi * x / 3;
  return (std::cos(pi * x) - std::sin(pi * x) / (pi * x)) / x;
}

struct Unary {
  const char* name;
  Long (*first)(Long);
  Long (*second)(Long);  // null: not compared
};
const Unary unary[] = {
    {"abs", [](Long x) -> Long { return (x > 0) - (x < 0); }, nullptr},
    {"square", [](Long x) { return 2 * x; }, [](Long) -> Long { return 2; }},
    {"sqrt", [](Long x) { return 1 / (2 * std::sqrt(x)); }, nullptr},
    {"rsqrt", [](Long x) { return x > 0 ? -0.5L / (x * std::sqrt(x)) : nan_number; }, nullptr},
    {"reciprocal", [](Long x) { return -1 / (x * x); }, nullptr},
    {"exp", [](Long x) { return std::exp(x); }, [](Long x) { return std::exp(x); }},
    {"exp2", [](Long x) { return std::exp2(x) * std::log(2.0L); }, nullptr},
    {"expm1", [](Long x) { return std::exp(x); }, [](Long x) { return std::exp(x); }},
    {"log", [](Long x) { return x < 0 ? nan_number : 1 / x; }, nullptr},
    {"log2", [](Long x) { return x < 0 ? nan_number : 1 / (x * std::log(2.0L)); }, nullptr},
    {"log10", [](Long x) { return x < 0 ? nan_number : 1 / (x * std::log(10.0L)); }, nullptr},
    {"log1p", [](Long x) { return x < -1 ? nan_number : 1 / (1 + x); }, nullptr},
    {"asin", [](Long x) { return 1 / std::sqrt((1 - x) * (1 + x)); }, nullptr},
    {"acos", [](Long x) { return -1 / std::sqrt((1 - x) * (1 + x)); }, nullptr},
    {"atan", [](Long x) { return 1 / (1 + x * x); },
     [](Long x) { return std::isinf(x) ? 0 : -2 * x / ((1 + x * x) * (1 + x * x)); }},
    {"sinh", [](Long x) { return std::cosh(x); }, nullptr},
    {"cosh", [](Long x) { return std::sinh(x); }, nullptr},
    {"tanh", [](Long x) { return 4 * logistic(2 * x).first; },
     [](Long x) { return 8 * logistic(2 * x).second; }},
    {"sigmoid", [](Long x) { return logistic(x).first; },
     [](Long x) { return logistic(x).second; }},
    {"asinh", [](Long x) { return 1 / std::hypot(x, 1.0L); }, nullptr},
    {"acosh", [](Long x) { return x < 1 ? nan_number : 1 / std::sqrt((x - 1) * (x + 1)); },
     [](Long x) {
       const Long square = (x - 1) * (x + 1);
       return x < 1 ? nan_number : std::isinf(x) ? 0 : -x / (square * std::sqrt(square));
     }},
    {"atanh", [](Long x) { return std::fabs(x) > 1 ? nan_number : 1 / ((1 - x) * (1 + x)); },
     nullptr},
    {"erf", [](Long x) { return 2 / std::sqrt(pi) * std::exp(-x * x); }, nullptr},
    {"erfc", [](Long x) { return -2 / std::sqrt(pi) * std::exp(-x * x); }, nullptr},
    {"sinc", [](Long x) { return std::fabs(x) > 100 ? nan_number : slope_of_sinc(x); }, nullptr},
};

// Two operands: the derivatives by both.
struct Binary {
  const char* name;
  Long (*by_first)(Long, Long);
  Long (*by_second)(Long, Long);
};
// x / hypot(x, y), with an infinite part as the whole direction.
Long direction(Long x, Long y) {
  if (std::isnan(x) || std::isnan(y)) return nan_number;
  const bool whole = std::isinf(x), shared = std::isinf(y);
  if (whole) return std::copysign(shared ? std::sqrt(0.5L) : 1, x);
  return shared || (x == 0 && y == 0) ? 0 : x / std::hypot(x, y);
}
Long turn(Long x, Long y) {
  const Long length = std::hypot(x, y);
  return length == 0 ? 0 : direction(x, y) / length;
}
const Binary binary[] = {
    {"atan2", [](Long y, Long x) { return turn(x, y); },
     [](Long y, Long x) { return -turn(y, x); }},
    {"hypot", [](Long x, Long y) { return direction(x, y); },
     [](Long x, Long y) { return direction(y, x); }},
    {"logaddexp", [](Long x, Long y) { return x == y ? 0.5L : 1 / (1 + std::exp(y - x)); },
     [](Long x, Long y) { return x == y ? 0.5L : 1 / (1 + std::exp(x - y)); }},
    {"xlogy", [](Long x, Long y) { return x == 0 && y <= 0 ? 0 : std::log(y); },
     [](Long x, Long y) { return x == 0 && y <= 0 ? 0 : x / y; }},
    {"pow",
     [](Long x, Long y) {
       // y - 1 is rounded to a whole number where y is small: then -0 would have the power of such.
       const Long base = y == std::trunc(y) ? x : std::fabs(x);
       return y == 0 ? 0 : y * std::pow(base, y - 1);
     },
     [](Long x, Long y) -> Long {
       if ((x == 0 && y >= 0) || (std::isinf(x) && x > 0 && y < 0)) return 0;
       return std::pow(x, y) * std::log(x);
     }},
};

// Operands of which a binary op is compared: its value is a number, and its derivatives have one
// meaning.
bool has_meaning(const std::string& op, Long x, Long y) {
  if (op == "xlogy") return !(y < 0 && x != 0) && !std::isinf(x) && !std::isinf(y);
  if (op == "pow") {
    return x >= 0 && std::fabs(y) < 100 && !(x == 0 && y < 0) && !(std::isinf(x) && y == 0);
  }
  return true;
}

template <class T>
void check_unary(const Unary& op) {
  CAPTURE(std::string(op.name));
  const std::vector<T> at = special_values<T>();
  const Found<T> found = derivatives_of<T>(op.name, at, op.second == nullptr ? 1 : 2);
  for (size_t i = 0; i < at.size(); ++i) {
    const auto x = static_cast<Long>(at[i]);
    check_derivative(op.name, at[i], found.first[i], op.first(x));
    check_derivative(op.name, at[i], found.forward[i], op.first(x));
    if (op.second != nullptr) check_derivative(op.name, at[i], found.second[i], op.second(x));
  }
}

template <class T>
void check_binary(const Binary& op) {
  CAPTURE(std::string(op.name));
  std::vector<T> first, second;
  const std::vector<T> values = special_values<T>();
  for (const T x : values) {
    for (const T y : values) {
      if (!has_meaning(op.name, static_cast<Long>(x), static_cast<Long>(y))) continue;
      first.push_back(x);
      second.push_back(y);
    }
  }
  const Tensor a = tenon::from_range(first.begin(), first.end()).requires_grad_(),
               b = tenon::from_range(second.begin(), second.end()).requires_grad_();
  const tenon::Op call(op.name);
  const std::vector<Tensor> gradients = tenon::gradients({call.call<Tensor>(a, b).sum()}, {a, b});
  std::vector<std::vector<double>> forward;
  for (int side = 0; side < 2; ++side) {
    const tenon::DualLevel level;
    const auto operand = [&](const Tensor& x, int own) {
      return make_dual(x.detach(), own == side ? ones_like(x.detach()) : zeros_like(x.detach()));
    };
    forward.push_back(unpack_dual(call.call<Tensor>(operand(a, 0), operand(b, 1)))
                          .tangent.template to_vector<double>());
  }
  const std::vector<double> by_first = gradients[0].to_vector<double>(),
                            by_second = gradients[1].to_vector<double>();
  for (size_t i = 0; i < first.size(); ++i) {
    const auto x = static_cast<Long>(first[i]), y = static_cast<Long>(second[i]);
    CAPTURE(first[i]);
    CAPTURE(second[i]);
    const Long by_x = op.by_first(x, y), by_y = op.by_second(x, y);
    check_derivative(op.name, first[i], static_cast<T>(by_first[i]), by_x);
    check_derivative(op.name, second[i], static_cast<T>(by_second[i]), by_y);
    // The other side's tangent is 0, which an infinite derivative makes NaN.
    if (std::isfinite(static_cast<T>(by_y)))
      check_derivative(op.name, first[i], static_cast<T>(forward[0][i]), by_x);
    if (std::isfinite(static_cast<T>(by_x)))
      check_derivative(op.name, second[i], static_cast<T>(forward[1][i]), by_y);
  }
}

// The gradient of the sum of a call's results, weighted unevenly.
Tensor gradient_of(const std::function<Tensor(const Tensor&)>& call, const Tensor& at) {
  const Tensor input = at.detach().requires_grad_();
  const Tensor result = call(input);
  const Tensor weights = numbers(result.sizes(), result.dtype(), 5);
  return tenon::gradients({(result * weights).sum()}, {input})[0];
}

}  // namespace

TEST_SUITE("plugins/math/special_values") {
  TEST_CASE("derivatives of one operand are right at every size of it") {
    for (const Unary& op : unary) {
      check_unary<double>(op);
      check_unary<float>(op);
    }
  }

  TEST_CASE("derivatives of two operands are right at every size of them") {
    for (const Binary& op : binary) {
      check_binary<double>(op);
      check_binary<float>(op);
    }
  }

  TEST_CASE("the gradients of angle and abs are right for complex numbers of any size") {
    struct Point {
      double real, imag;
      std::vector<double> angle, abs;
    };
    const double inf = std::numeric_limits<double>::infinity(), half = std::sqrt(0.5);
    for (const Point& p :
         {Point{0, 0, {0, 0}, {0, 0}}, Point{1e-30, 1e-30, {-5e29, 5e29}, {half, half}},
          Point{1e30, -1e30, {5e-31, 5e-31}, {half, -half}}, Point{inf, 0, {0, 0}, {1, 0}},
          Point{3, -inf, {0, 0}, {0, -1}}, Point{-inf, inf, {0, 0}, {-half, half}}}) {
      CAPTURE(p.real);
      for (const tenon::DType dtype : {c64, c128}) {
        const Tensor z =
            tenon::tensor({std::complex<double>(p.real, p.imag)}, c128).to(dtype).requires_grad_();
        const auto parts = [&](const Tensor& result) {
          return tenon::view_as_real(tenon::gradients({result.sum()}, {z})[0]);
        };
        check_values(parts(tenon::angle(z)).flatten(), {2}, p.angle, 1e-6);
        check_values(parts(tenon::abs(z)).flatten(), {2}, p.abs, 1e-6);
      }
    }
  }

  TEST_CASE("the direction of a complex number does not overflow") {
    const double inf = std::numeric_limits<double>::infinity(), half = std::sqrt(0.5);
    const auto direction = [](double real, double imag) {
      const Tensor z = tenon::tensor({std::complex<double>(real, imag)}, c128);
      return tenon::view_as_real(tenon::sgn(z)).flatten();
    };
    check_values(direction(1.5e308, -1.5e308), {2}, {half, -half}, 1e-15);
    check_values(direction(4e-320, 3e-320), {2}, {0.8, 0.6}, 1e-3);
    check_values(direction(-inf, 7), {2}, {-1, 0});
    check_values(direction(inf, -inf), {2}, {half, -half}, 1e-15);
    check_values(direction(0, 0), {2}, {0, 0});
  }

  TEST_CASE("derivatives of complex functions stay finite where squares overflow") {
    const std::complex<double> z(2e200, -1e200);
    for (const char* name : {"asin", "acos", "asinh", "acosh", "atan", "atanh"}) {
      CAPTURE(name);
      const Tensor at = tenon::tensor({z}, c128).requires_grad_();
      const tenon::Op op(name);
      const Tensor gradient = tenon::gradients({tenon::real(op.call<Tensor>(at)).sum()}, {at})[0];
      // Far from the origin the derivatives are those of logarithms, or vanish.
      const double size = tenon::abs(gradient).item<double>();
      const bool logarithm = std::string(name).find("tan") == std::string::npos;
      CHECK(size == doctest::Approx(logarithm ? 1 / std::abs(z) : 0).epsilon(1e-9));
    }
  }

  TEST_CASE(
      "scaling the input of a norm scales its gradient, whatever the powers of elements are") {
    struct Row {
      const char* name;
      std::function<Tensor(const Tensor&)> call;
      double degree;
    };
    std::vector<Row> rows = {
        {"std", [](const Tensor& x) { return x.std(); }, 1},
        {"std", [](const Tensor& x) { return x.std({1}); }, 1},
        {"mean", [](const Tensor& x) { return x.mean(); }, 1},
    };
    const double inf = std::numeric_limits<double>::infinity();
    for (const double ord : {2.0, 1.0, 3.5, 0.5, -1.5, inf, -inf})
      rows.push_back({"norm", [ord](const Tensor& x) { return tenon::vector_norm(x, ord); }, 1});
    for (const Row& row : rows) {
      for (const tenon::DType dtype : {f32, f64}) {
        for (const int power :
             dtype == f32 ? std::vector<int>{-100, 100} : std::vector<int>{-700, -560, 560, 1000}) {
          CAPTURE(std::string(row.name));
          CAPTURE(power);
          const Tensor x = numbers({3, 4}, dtype, 11);
          const Tensor scaled = x * std::ldexp(1.0, power);
          check_close(row.call(scaled) * std::ldexp(1.0, -power), row.call(x),
                      dtype == f32 ? 1e-5 : 1e-12);
          check_close(gradient_of(row.call, scaled), gradient_of(row.call, x),
                      dtype == f32 ? 1e-5 : 1e-12);
        }
      }
    }
  }

  TEST_CASE("between an infinity and another element there is that infinity, and never NaN") {
    const double inf = std::numeric_limits<double>::infinity();
    const Tensor row = tenon::tensor({-1.0, 2.0, inf}, f64);
    check_values(quantile(row, tenon::tensor({0.0, 0.5, 0.6, 0.75, 0.9, 1.0}, f64)), {6},
                 {-1, 2, inf, inf, inf, inf});
    check_values(quantile(-row, tenon::tensor({0.1, 0.25, 0.45, 0.5}, f64)), {4},
                 {-inf, -inf, -inf, -2});
    const auto between = [](double a, double b, double weight) {
      const double found =
          tenon::lerp(tenon::tensor(a, f64), tenon::tensor(b, f64), weight).item<double>();
      const float small =
          tenon::lerp(tenon::tensor(a, f32), tenon::tensor(b, f32), weight).item<float>();
      CHECK(((std::isnan(found) && std::isnan(small)) || std::isinf(found) ||
             small == doctest::Approx(found)));
      return found;
    };
    CHECK(between(1, inf, 0) == 1);
    CHECK(between(1, inf, 0.3) == inf);
    CHECK(between(inf, 1, 0.7) == inf);
    CHECK(between(inf, 1, 1) == 1);
    CHECK(between(inf, inf, 0.3) == inf);
    CHECK(between(-inf, -inf, 2) == -inf);
    CHECK(std::isnan(between(-inf, inf, 0.5)));
    CHECK(std::isnan(between(1, std::nan(""), 0)));
    CHECK(tenon::lerp(tenon::tensor(-1e308, f64), tenon::tensor(1e308, f64), 0.5).item() == 0);
  }

  TEST_CASE("the derivative of lerp by its weight is the distance, and 0 of equal infinities") {
    const double inf = std::numeric_limits<double>::infinity();
    Tensor weight = tenon::tensor({0.5, 0.5, 0.5}, f64).requires_grad_();
    Tensor end = tenon::tensor({1.0, inf, 3.0}, f64).requires_grad_();
    const Tensor start = tenon::tensor({1.0, inf, 1.0}, f64);
    tenon::GradientOptions graph;
    graph.create_graph = true;
    const Tensor slope =
        tenon::gradients({tenon::lerp(start, end, weight).sum()}, {weight}, graph)[0];
    check_values(slope, {3}, {0, 0, 2});
    check_values(tenon::gradients({slope.narrow(0, 0, 1).sum()}, {end})[0], {3}, {1, 0, 0});
  }

  TEST_CASE("ranges whose width overflows are divided evenly") {
    check_values(tenon::linspace(-1e308, 1e308, 5, f64), {5}, {-1e308, -5e307, 0, 5e307, 1e308});
    CHECK(tenon::arange(-1e308, 1e308, 5e307, f64).size(0) == 4);
    check_values(histc(tenon::tensor({-1e308, -4e307, 4e307, 1e308, 1e308}, f64), 2, -1e308, 1e308),
                 {2}, {2, 3});
  }

  TEST_CASE("rounding does not add an element to a range of fractions") {
    CHECK(tenon::arange(1, 1.3, 0.1, f64).size(0) == 3);
    CHECK(tenon::arange(0, 1, 0.1, f64).size(0) == 10);
    CHECK(tenon::arange(0, 1.05, 0.1, f64).size(0) == 11);
    CHECK(tenon::arange(0, 0.7, 0.1, f64).size(0) == 7);
    // Every range of whole steps of a decimal fraction.
    for (int count = 1; count < 200; ++count) {
      for (const double step : {0.1, 0.01, 0.3, 0.7, 1.1}) {
        CAPTURE(count);
        CAPTURE(step);
        CHECK(tenon::arange(2.0, 2 + count * step, step, f64).size(0) == count);
      }
    }
  }

  TEST_CASE("the derivative of a product with two zeros is 0, also where other factors overflow") {
    const auto gradient = [](const std::vector<double>& factors) {
      const Tensor x =
          tenon::from_range(factors.begin(), factors.end()).to(tenon::f32).requires_grad_();
      x.prod().backward();
      return x.grad().to_vector<double>();
    };
    CHECK(gradient({1e13, 0, 0, 1e13, 1e13, 0, 1e13, 1e13, 1e13}) == std::vector<double>(9, 0));
    CHECK(gradient({0, 2, 3}) == std::vector<double>{6, 0, 0});
    CHECK(std::isnan(gradient({0, 0, std::numeric_limits<double>::infinity()})[0]));
  }

  TEST_CASE("the derivative of a scattered product is that of prod, with zeros counted") {
    const Tensor index = tenon::tensor({0, 2, 0, 0, 2, 1}, tenon::i64);
    for (const bool include_self : {true, false}) {
      for (int zeros = 0; zeros < 3; ++zeros) {
        CAPTURE(include_self);
        CAPTURE(zeros);
        Tensor own = numbers({4}, f64, 3) + 2, src = numbers({6}, f64, 4) + 2;
        if (zeros > 0) src = src.masked_fill(tenon::arange(6).eq(2), 0);
        if (zeros > 1) own = own.masked_fill(tenon::arange(4).lt(2), 0);
        own = own.detach().requires_grad_();
        src = src.detach().requires_grad_();
        const auto scattered = [&](const std::vector<Tensor>& in) {
          return scatter_reduce(in[0], 0, index, in[1], "prod", include_self);
        };
        const auto by_prod = [&](const std::vector<Tensor>& in) {
          std::vector<Tensor> places;
          for (int64_t place = 0; place < 4; ++place) {
            std::vector<Tensor> factors;
            const Tensor here = index.eq(place);
            if (include_self || !here.any().item<bool>())
              factors.push_back(in[0].narrow(0, place, 1));
            for (int64_t i = 0; i < 6; ++i)
              if (here.select(0, i).item<bool>()) factors.push_back(in[1].narrow(0, i, 1));
            places.push_back(tenon::cat(factors).prod());
          }
          return tenon::stack(places);
        };
        const std::vector<Tensor> at = {own, src};
        check_close(scattered(at), by_prod(at), 1e-12);
        const Tensor weights = numbers({4}, f64, 9), turns = numbers({6}, f64, 10);
        tenon::GradientOptions graph;
        graph.create_graph = true;
        const auto all = [&](const std::function<Tensor(const std::vector<Tensor>&)>& call) {
          std::vector<Tensor> first = tenon::gradients({(call(at) * weights).sum()}, at, graph);
          const Tensor along = (first[1] * turns).sum() + (first[0] * weights).sum();
          tenon::GradientOptions unused;
          unused.allow_unused = true;
          for (Tensor& each : tenon::gradients({along}, at, unused))
            first.push_back(each.defined() ? each : zeros_like(at[first.size() - 2].detach()));
          return first;
        };
        const std::vector<Tensor> found = all(scattered), expected = all(by_prod);
        for (size_t i = 0; i < 4; ++i) check_close(found[i], expected[i], 1e-10);
        check_mixed_order(std::function<Tensor(const std::vector<Tensor>&)>(scattered), at);
      }
    }
  }
}
