// logaddexp, logaddexp2 and xlogy.
#include <cmath>

#include <tenon/plugin.hpp>
#include <tenon/kernel/complex.hpp>

#include "float_op.hpp"
#include "operand.hpp"

namespace {

using namespace tenon;

constexpr double ln2 = 0.693147180559945309417;

TENON_OP_FUNCTION(Tensor, logaddexp_backward, "logaddexp_backward")

// The share of a in e^a + e^b, by which the gradient is divided: 1/2 for equal infinities.
Tensor share(const Tensor& a, const Tensor& b, double base) {
  const Tensor difference = (a - b) * base;
  return sigmoid(masked_fill(difference, logical_and(eq(a, b), logical_not(isfinite(a))), 0));
}
template <class Op>
std::array<Tensor, 2> divide(ContextOf<Op>& c, const Tensor& g, bool binary) {
  const Tensor a = operand_as(c["input"_arg], g.dtype()), b = operand_as(c["other"_arg], g.dtype());
  const auto part = [&](const Tensor& x, const Tensor& y) {
    if (!is_complex(g.dtype())) return logaddexp_backward(g, x, y, binary);
    return g * conjugate(share(x, y, binary ? ln2 : 1));
  };
  return needed_gradients(
      c, "input"_arg = [&] { return part(a, b); }, "other"_arg = [&] { return part(b, a); });
}

// The number in its upper half and the rest, which are multiplied without rounding.
TENON_INLINE double upper_half(double x) {
  return __builtin_bit_cast(double, __builtin_bit_cast(uint64_t, x) & ~uint64_t{0x7ffffff});
}
// The sigmoid of (a - b) ln 2 or a - b. In f64 a difference of 700 is rounded by up to 500 units of its power:
// a second number has what rounding took away.
TENON_INLINE double share_of(double a, double b, bool binary) {
  const double wide = a - b, moved = wide - a;
  // All is 0 or 1 beyond 1100, and infinite differences have no rest.
  const double d = wide > 1100 ? 1100 : wide < -1100 ? -1100 : wide;
  double exponent = d, rest = d == wide ? (a - (wide - moved)) - (b + moved) : 0;
  if (binary) {
    constexpr double factor = 0x1.62e42fefa39efp-1, upper = 0x1.62e42fp-1, lower = 0x1.df473dep-26;
    const double high = upper_half(d), low = d - high;
    exponent = d * factor;
    rest = ((high * upper - exponent) + high * lower + low * upper) + low * lower + rest * factor +
           d * 2.3190468138462996e-17;
  }
  const double decay = kernel::exp(-std::fabs(exponent)), whole = 1 + decay;
  const double part = (exponent < 0 ? decay : 1) / whole;
  // The derivative of the logarithm of the share is the other share.
  return part + part * (rest * ((exponent < 0 ? 1 : decay) / whole));
}

// Shares of f32: the difference in f64, the power of its upper half in f32.
TENON_INLINE float share_of(float x, float y, bool binary) {
  const double wide = (static_cast<double>(x) - static_cast<double>(y)) * (binary ? ln2 : 1);
  const double d = wide > 200 ? 200 : wide < -200 ? -200 : wide;
  const auto exponent = static_cast<float>(d);
  const auto rest = static_cast<float>(d - static_cast<double>(exponent));
  const float decay = kernel::exp(-std::fabs(exponent)), whole = 1 + decay;
  const float part = (exponent < 0 ? decay : 1.0f) / whole;
  return part + part * (rest * ((exponent < 0 ? 1.0f : decay) / whole));
}

struct LogaddexpBackward {
  static constexpr auto schema =
      "logaddexp_backward(Tensor gradient, Tensor input, Tensor other, bool binary=False) -> "
      "Tensor";
  static constexpr auto doc =
      "The gradient of logaddexp for input: gradient times the share of exp(input) in exp(input) + "
      "exp(other), accurate to the last digits where it is small, too; with binary of 2^input. 1/2 "
      "of "
      "gradient for equal infinities.";
  static constexpr auto accuracy =
      "f32 3.5, f64 4.1; gradient f32 6, f64 7; where the result is not subnormal; f32: exp, a "
      "sum, "
      "a quotient and two products round";
  static constexpr uint32_t dtypes = floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto element = [](auto gradient, auto x, auto y, bool binary) {
    const auto part = share_of(x, y, binary);
    return gradient * (x == y ? decltype(part)(0.5) : part);
  };
  static constexpr auto saves = "gradient for input, gradient for other, input, other";
  static std::array<Tensor, 3> backward(ContextOf<LogaddexpBackward>& c, const Tensor& g) {
    const Tensor &a = c["input"_arg], &b = c["other"_arg];
    const bool binary = c["binary"_arg];
    // The product of both shares; 0 for infinite differences.
    const auto slope = [&] {
      const Tensor part = logaddexp_backward(g * c["gradient"_arg], a, b, binary);
      const Tensor both = logaddexp_backward(binary ? part * ln2 : part, b, a, binary);
      return masked_fill(both, logical_not(isfinite(a - b)), 0);
    };
    return needed_gradients(
        c, "gradient"_arg = [&] { return logaddexp_backward(g, a, b, binary); },
        "input"_arg = slope, "other"_arg = [&] { return -slope(); });
  }
  static constexpr auto jvp = pointwise;
};

// The logarithm of a sum of two exponentials, to the base whose natural logarithm is `base`. Equal
// operands are looked at first, since equal infinities have no difference.
template <class T>
double log_sum(T x, T y) {
  const auto a = static_cast<double>(x), b = static_cast<double>(y);
  const double largest = a > b ? a : b;
  const double more = kernel::log1p(kernel::exp(-std::fabs(a - b)));
  return a == b ? a + ln2 : largest + more;
}
template <class T>
std::complex<T> log_sum(std::complex<T> x, std::complex<T> y, double base = 1) {
  const auto a = static_cast<std::complex<double>>(x), b = static_cast<std::complex<double>>(y);
  if (a == b) return static_cast<std::complex<T>>(a + ln2 / base);
  const bool first = a.real() > b.real();
  const std::complex<double> difference = (first ? b - a : a - b) * base;
  return static_cast<std::complex<T>>((first ? a : b) + kernel::log1p(std::exp(difference)) / base);
}

template <class T>
double log2_sum(T x, T y) {
  const auto a = static_cast<double>(x), b = static_cast<double>(y);
  const double largest = a > b ? a : b;
  const double more = kernel::log1p(kernel::exp2(-std::fabs(a - b))) * (1 / ln2);
  return a == b ? a + 1 : largest + more;
}
template <class T>
std::complex<T> log2_sum(std::complex<T> x, std::complex<T> y) {
  return log_sum(x, y, ln2);
}

struct Logaddexp : FloatOp {
  static constexpr auto schema =
      "logaddexp(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "log(exp(input) + exp(other)), without overflow. Integers give f32.";
  static constexpr auto accuracy =
      "f32 0.5, f64 2.8; gradient f32 3.5, f64 2.9; results of the larger operand; "
      "f64: a sum and log1p of a rounded exp";
  static constexpr auto element = [](auto x, auto y) { return log_sum(x, y); };
  static constexpr auto saves = "input, other";
  static std::array<Tensor, 2> backward(ContextOf<Logaddexp>& c, const Tensor& g) {
    return divide(c, g, false);
  }
};

struct Logaddexp2 : FloatOp {
  static constexpr auto schema =
      "logaddexp2(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The logarithm to base 2 of 2^input + 2^other, without overflow. Integers give f32.";
  static constexpr auto accuracy =
      "f32 0.5, f64 2.7; gradient f32 3.5, f64 3.3; results of the larger operand; "
      "f64: a sum and log1p of a rounded exp";
  static constexpr auto element = [](auto x, auto y) { return log2_sum(x, y); };
  static constexpr auto saves = "input, other";
  static std::array<Tensor, 2> backward(ContextOf<Logaddexp2>& c, const Tensor& g) {
    return divide(c, g, true);
  }
};

struct Xlogy : RealFloatOp {
  static constexpr auto schema =
      "xlogy(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "input * log(other); 0 where input is 0, unless other is NaN. Its gradients are 0 there "
      "where "
      "other is not above 0. Integers give f32.";
  static constexpr auto accuracy = "f32 0.5, f64 2.3; gradient f32 1.2, f64 1.7";
  static constexpr auto element = [](auto x, auto y) {
    const auto a = static_cast<double>(x), b = static_cast<double>(y);
    return b != b ? b : a == 0 ? 0 : a * kernel::log(b);
  };
  static constexpr auto saves = "input, other";
  static std::array<Tensor, 2> backward(ContextOf<Xlogy>& c, const Tensor& g) {
    const Tensor x = operand_as(c["input"_arg], g.dtype()),
                 y = operand_as(c["other"_arg], g.dtype());
    // The op is 0 where x is, and stays so beside it: there is nothing infinite to multiply by.
    const Tensor constant = logical_and(eq(x, 0), le(y, 0)), safe = masked_fill(y, constant, 1);
    return needed_gradients(
        c, "input"_arg = [&] { return g * log(safe); },
        "other"_arg = [&] { return masked_fill(g * x / safe, constant, 0); });
  }
};

}  // namespace

TENON_OPS(Logaddexp, Logaddexp2, LogaddexpBackward)
TENON_OPS_WITH_IN_PLACE(Xlogy)
