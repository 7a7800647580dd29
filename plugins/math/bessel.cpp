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
      "f32 0.5, f64 6.2; gradient f32 0.5, f64 7.4; f64: sums of rounded terms, without "
      "wider numbers";
  static constexpr auto element = [](auto x) { return bessel(0, static_cast<double>(x)); };
  static constexpr bool costly = true;
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<I0>& c, const Tensor& g) { return g * i1(c["input"_arg]); }
};

struct I1 : RealFloatOp {
  static constexpr auto schema = "i1(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The modified Bessel function of the first kind of order 1, the derivative of i0.";
  static constexpr auto accuracy =
      "f32 0.5, f64 7.4; gradient f32 1.9, f64 6; f64: sums of rounded terms, without "
      "wider numbers";
  static constexpr auto element = [](auto x) { return bessel(1, static_cast<double>(x)); };
  static constexpr bool costly = true;
  static constexpr auto saves = "input";
  // i0 - i1 / x, which is 1/2 at 0.
  static Tensor backward(ContextOf<I1>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    const Tensor zero = eq(x, 0), divisor = where(zero, 1, x);
    return g * (i0(x) - where(zero, 0.5, i1(x) / divisor));
  }
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(I0, I1)
