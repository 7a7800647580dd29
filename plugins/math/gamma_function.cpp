// The gamma function's logarithm and the derivatives of it: lgamma, digamma, polygamma.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <tenon/kernel/rows.hpp>
#include <tenon/kernel/view.hpp>

#include "dimensions.hpp"
#include "float_op.hpp"

namespace {

using namespace tenon;
using namespace math;

constexpr double kPi = 3.14159265358979323846;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// B(2k) / (2k)! for k = 1, 2, ...: the weights of Euler and Maclaurin's formula.
constexpr double kBernoulli[] = {1.0 / 12,
                                 -1.0 / 720,
                                 1.0 / 30240,
                                 -1.0 / 1209600,
                                 1.0 / 47900160,
                                 -691.0 / 1307674368000.0,
                                 1.0 / 74724249600.0,
                                 -3617.0 / 10670622842880000.0};

// The sum of (x + k)^-s for k = 0, 1, ...: Hurwitz' zeta function of s > 1 and x > 0.
double hurwitz_zeta(double s, double x) {
  double sum = 0;
  for (; x < 12 + s / 2; x += 1) sum += std::pow(x, -s);
  const double power = std::pow(x, -s);
  // The power of a very large x would be 0, while x times it is not.
  const double first = x < 1e100 ? x * power : std::pow(x, 1 - s);
  sum += first / (s - 1) + power / 2;
  double factor = s * power / x;
  for (int k = 0; k < 8; ++k) {
    sum += kBernoulli[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (x * x);
  }
  return sum;
}

// Powers of x - 3/2 in digamma(x) / (x - root) for x in [1, 2], and of x - 5/2 in digamma(x) for [2, 3]: within
// 3e-17 of these, by interpolation at the points of Chebyshev.
constexpr double kBesideRoot[] = {
    0.951055876031833,      -0.4236274212814605,    0.2405424842407742,    -0.14840492305390884,
    0.09498872445494122,    -0.061922133273064534,  0.04076083381242074,   -0.02697579675613825,
    0.0179072524394512,     -0.011908218001568644,  0.007926944646403797,  -0.005279964873257405,
    0.003519006401502276,   -0.002345267632540769,  0.0015566317474486838, -0.0010376374098418604,
    0.0007233266279287554,  -0.0004821990530566789, 0.0002272331660987376, -0.00015148586836773365,
    0.00025968482126430747, -0.00017312261802727394};
constexpr double kFrom2To3[] = {
    0.7031566406452432,     0.4903577561002345,     -0.11810202582086357,    0.03731764146960415,
    -0.01307316664613865,   0.004821409817920042,   -0.0018305640368755439,  0.0007073882522027979,
    -0.0002764392890487257, 0.00010882468831361856, -4.305222744303708e-05,  1.7097814576852476e-05,
    -6.802386003463138e-06, 2.672613474275583e-06,  -1.0661559311957542e-06, 5.126050992843158e-07,
    -2.047891022197242e-07};
template <size_t kCount>
double polynomial(const double (&coefficients)[kCount], double x) {
  double value = 0;
  for (size_t k = kCount; k-- > 0;) value = value * x + coefficients[k];
  return value;
}

// The logarithmic derivative of the gamma function at x > 0. What is added to the polynomials has the sign of the
// result, so that no digits are lost; differences of x and whole numbers are exact.
double digamma_above_0(double x) {
  if (x >= 10) {
    const double square = 1 / (x * x);
    const double tail =
        square *
        (1.0 / 12 - square * (1.0 / 120 -
                              square * (1.0 / 252 -
                                        square * (1.0 / 240 -
                                                  square * (1.0 / 132 - square * 691.0 / 32760)))));
    return std::log(x) - 0.5 / x - tail;
  }
  double sum = 0;
  if (x < 1) {
    sum = -1 / x;
    x += 1;
  }
  for (; x >= 3; sum += 1 / x) x -= 1;
  // The root to twice the digits of f64.
  constexpr double root = 0x1.762d86356be3fp+0, rest = 0x1.b86a722197829p-54;
  return sum + (x < 2 ? ((x - root) - rest) * polynomial(kBesideRoot, x - 1.5)
                      : polynomial(kFrom2To3, x - 2.5));
}

// Coefficients of the polynomial in cot(pi x) that is the n-th derivative of pi cot(pi x), divided by
// pi^(n + 1): each derivative of c is -(1 + c^2).
std::vector<double> cotangent_derivative(int64_t n) {
  std::vector<double> now{0, 1};
  for (int64_t step = 0; step < n; ++step) {
    std::vector<double> next(now.size() + 1);
    for (size_t k = 1; k < now.size(); ++k) {
      next[k - 1] -= static_cast<double>(k) * now[k];
      next[k + 1] -= static_cast<double>(k) * now[k];
    }
    now = std::move(next);
  }
  return now;
}

// The n-th derivative of digamma.
class Polygamma {
 public:
  explicit Polygamma(int64_t n)
      : n_(n),
        factorial_(std::tgamma(static_cast<double>(n + 1))),
        cotangent_(cotangent_derivative(n)) {}

  double operator()(double x) const {
    if (x != x) return x;
    if (x > 0) return above_0(x);
    // Poles: of odd order from both sides the same.
    if (x == 0 && n_ % 2 == 0) return std::signbit(x) ? kInfinity : -kInfinity;
    if (x == std::floor(x)) {
      const bool even = n_ % 2 == 0;
      return even || std::isinf(x) ? std::numeric_limits<double>::quiet_NaN() : kInfinity;
    }
    return reflected(x);
  }

 private:
  double above_0(double x) const {
    if (n_ == 0) return std::isinf(x) ? x : digamma_above_0(x);
    if (std::isinf(x)) return 0;
    const double size = factorial_ * hurwitz_zeta(static_cast<double>(n_ + 1), x);
    return n_ % 2 == 0 ? -size : size;
  }
  // (-1)^n psi(1 - x) - psi(x) is the n-th derivative of pi cot(pi x).
  double reflected(double x) const {
    // From the nearest whole number: a difference from the one below loses what is next to a pole.
    const double cotangent = 1 / std::tan(kPi * (x - std::nearbyint(x)));
    double derivative = 0;
    for (size_t k = cotangent_.size(); k-- > 0;)
      derivative = derivative * cotangent + cotangent_[k];
    derivative *= std::pow(kPi, static_cast<double>(n_ + 1));
    const double mirrored = above_0(1 - x);
    return (n_ % 2 == 0 ? mirrored : -mirrored) - derivative;
  }

  int64_t n_;
  double factorial_;
  std::vector<double> cotangent_;
};

struct PolygammaOp {
  static constexpr auto schema = "polygamma(int n, Tensor input) -> Tensor";
  static constexpr auto samples =
      R"([{"n": 1, "input": {"shape": [2, 3], "low": 0.5, "high": 3}},
          {"n": 0, "input": {"values": [-1.3, 0.4, 20]}}, {"n": 3, "input": {"values": [-0.6, 1.5]}}])";
  static constexpr auto doc =
      "The n-th derivative of digamma, from 0 to 30. Integers give f32. Even derivatives have "
      "inf of the other sign on both sides of 0, and NaN at the negative whole numbers; odd ones "
      "inf.";
  static constexpr auto saves = "input";
  static Tensor forward(int64_t n, const Tensor& input) {
    if (n < 0 || n > 30)
      throw ValueError("polygamma(): n must be from 0 to 30, got " + std::to_string(n));
    if (!is_floating(input.dtype()))
      kernel::check_dtype("polygamma", "input", input.dtype(), integer_dtypes);
    const Tensor source = contiguous_as(input, is_floating(input.dtype()) ? input.dtype() : f32);
    const Tensor result = empty_tensor(input.shape(), source.dtype());
    const Polygamma function(n);
    kernel::visit<floating_dtypes>(source.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = kernel::elements<const T>(source);
      T* to = kernel::elements<T>(result);
      kernel::for_rows(input.numel(), 64, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          to[i] = static_cast<T>(function(static_cast<double>(from[i])));
      });
    });
    return result;
  }
  static Tensor slope(ContextOf<PolygammaOp>& c) {
    static const Op polygamma("polygamma");
    const int64_t n = c["n"_arg];
    if (n == 30)
      throw ValueError("polygamma(): n 30 has no gradient, which is that of n 31: n is 30 at most");
    return polygamma.call<Tensor>(n + 1, c["input"_arg]);
  }
  static std::array<Tensor, 2> backward(ContextOf<PolygammaOp>& c, const Tensor& g) {
    return {Tensor(), g * slope(c)};
  }
  static Tensor jvp(ContextOf<PolygammaOp>& c, TensorList t) { return t[1] * slope(c); }
};

struct Digamma : RealFloatOp {
  static constexpr auto schema = "digamma(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The derivative of lgamma: polygamma(0, input). -inf at 0, inf at -0, NaN at the negative "
      "whole numbers.";
  static constexpr auto accuracy =
      "f32 0.5, f64 7.5; gradient f32 0.5, f64 4.5; "
      "below 0 of 1 where the result is smaller; f64 above 0 2.5, below by reflection; "
      "gradients: sums of rounded terms, without wider numbers";
  static constexpr auto element = [](auto x) {
    const auto value = static_cast<double>(x);
    if (value > 0 && value < kInfinity) return digamma_above_0(value);
    return Polygamma(0)(value);
  };
  static constexpr bool costly = true;
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Digamma>& c, const Tensor& g) {
    static const Op polygamma("polygamma");
    return g * polygamma.call<Tensor>(int64_t{1}, c["input"_arg]);
  }
};

struct Lgamma : RealFloatOp {
  static constexpr auto schema = "lgamma(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The logarithm of the magnitude of the gamma function; inf at 0 and the negative whole "
      "numbers.";
  static constexpr auto accuracy =
      "f32 0.5, f64 4; gradient f32 0.5, f64 7.5; "
      "below 0 of 1 where the result is smaller; gradients as digamma; f64: that of glibc";
  static constexpr auto element = [](auto x) {
    int sign = 0;  // lgamma would write to a variable that threads share
    return ::lgamma_r(static_cast<double>(x), &sign);
  };
  static constexpr bool costly = true;
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Lgamma>& c, const Tensor& g) {
    return g * digamma(c["input"_arg]);
  }
};

}  // namespace

TENON_OP(PolygammaOp)
TENON_OPS_WITH_IN_PLACE(Lgamma, Digamma)
