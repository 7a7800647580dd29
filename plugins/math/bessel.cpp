// Modified Bessel functions of the first kind: i0 and i1.
#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/ops.hpp>

#include "float_op.hpp"

namespace {

using namespace tenon;

constexpr double kTurn = 6.28318530717958647693;

// I of order n, 0 or 1: its power series, whose terms are all positive, up to where Hankel's expansion
// is exact to the last digit (doi:10.5555/1098650, 9.6.10 and 9.7.1).
double bessel(int n, double x) {
  const double size = std::fabs(x);
  double value = 0;
  if (size < 25) {
    const double quarter = size * size / 4;
    double term = n == 0 ? 1 : size / 2;
    for (int k = 1; term > value * 1e-18; ++k) {
      value += term;
      term *= quarter / (static_cast<double>(k) * static_cast<double>(k + n));
    }
  } else {
    double term = 1;
    for (int k = 1; std::fabs(term) > 1e-18 && k < 40; ++k) {
      value += term;
      const double odd = 2 * k - 1;
      term *= -(4.0 * n * n - odd * odd) / (8 * size * k);
    }
    // exp(x) alone would overflow before the quotient does.
    const double half = std::exp(size / 2);
    value *= half / std::sqrt(std::min(kTurn * size, std::numeric_limits<double>::max())) * half;
    if (std::isinf(size)) value = size;
  }
  if (size != size) return size;
  return n == 1 ? std::copysign(value, x) : value;
}

struct I0 : RealFloatOp {
  static constexpr auto schema = "i0(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The modified Bessel function of the first kind of order 0.";
  static constexpr auto accuracy =
      "f32 0.5, f64 11; gradient f32 0.5, f64 8.6; f64: sums of rounded terms, without "
      "wider numbers";
  static constexpr auto element = [](auto x) { return bessel(0, static_cast<double>(x)); };
  static constexpr bool costly = true;
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<I0>& c, const Tensor& g) { return g * i1(c["input"_arg]); }
};

TENON_OP_FUNCTION(Tensor, i1_backward, "i1_backward")

// The derivative of i1, by the derivative of its series: i0 - i1 / x would lose digits near 0.
double bessel_slope(double x) {
  const double size = std::fabs(x);
  if (!(size < 25)) return bessel(0, size) - (std::isinf(size) ? 0 : bessel(1, size) / size);
  const double quarter = size * size / 4;
  double value = 0, term = 0.5;
  for (int k = 1; term > value * 1e-19; ++k) {
    const double odd = 2 * k - 1;
    value += odd * term;
    term *= quarter / (static_cast<double>(k) * (k + 1));
  }
  return value;
}

struct I1Backward {
  static constexpr auto schema =
      "i1_backward(Tensor gradient, Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The gradient of i1: gradient * (i0(input) + i2(input)) / 2.";
  static constexpr auto accuracy =
      "f32 0.6, f64 11; gradient f32 8, f64 14; of exp(input) in range; f64: sums of rounded "
      "terms, without wider numbers; slopes: a difference whose terms are large beside it";
  static constexpr uint32_t dtypes = floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto element = [](auto gradient, auto x) {
    return static_cast<double>(gradient) * bessel_slope(static_cast<double>(x));
  };
  static constexpr auto saves = "gradient for input, input";
  static std::array<Tensor, 2> backward(ContextOf<I1Backward>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    return needed_gradients(
        c, "gradient"_arg = [&] { return i1_backward(g, x); },
        "input"_arg = [&] { return g * c["gradient"_arg] * second(x); });
  }
  static constexpr auto jvp = pointwise;

 private:
  // The second derivative of i1: by its differential equation, up to 1 by the power series.
  static Tensor second(const Tensor& x) {
    constexpr int terms = 10;
    const Tensor far = ge(abs(x), 1), not_far = logical_not(far);
    const Tensor near = masked_fill(x, far, 0) * 0.5, quarter = square(near);
    double factors[terms + 1] = {};  // coefficients of near^(2k-1): (2k + 1) 2k / (4 k! (k + 1)!)
    double factorials = 1;
    for (int k = 1; k <= terms; ++k) {
      factorials *= k * (k + 1.0);
      factors[k] = (2 * k + 1) * k / (2 * factorials);
    }
    Tensor series = full({}, factors[terms], x.dtype());
    for (int k = terms - 1; k >= 1; --k) series = series * quarter + factors[k];
    const Tensor inverse = 1 / masked_fill(x, not_far, 1);
    const Tensor outside = i1(x) * (1 + square(inverse)) - i1_backward(ones_like(x), x) * inverse;
    return where(far, outside, series * near);
  }
};

struct I1 : RealFloatOp {
  static constexpr auto schema = "i1(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The modified Bessel function of the first kind of order 1, the derivative of i0.";
  static constexpr auto accuracy =
      "f32 0.5, f64 8.6; gradient f32 0.6, f64 11; f64: sums of rounded terms, without "
      "wider numbers";
  static constexpr auto element = [](auto x) { return bessel(1, static_cast<double>(x)); };
  static constexpr bool costly = true;
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<I1>& c, const Tensor& g) {
    return i1_backward(g, c["input"_arg]);
  }
};

}  // namespace

TENON_OPS(I1Backward)
TENON_OPS_WITH_IN_PLACE(I0, I1)
