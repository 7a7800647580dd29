// Powers, roots and the hypotenuse. Integer powers of integers wrap around; negative ones round
// toward zero.
#include <cmath>
#include <limits>

#include <tenon/plugin.hpp>
#include <tenon/kernel/complex.hpp>

#include "float_op.hpp"
#include "operand.hpp"
#include "scaled_pair.hpp"
#include "wrapping.hpp"

namespace {

using namespace tenon;

constexpr double infinity = std::numeric_limits<double>::infinity();

// Whole exponents below 100 by multiplication, as NumPy: exp(e * log(x)) would lose digits. To the
// power of 0 all are 1.
template <class T>
std::complex<T> power(std::complex<T> base, std::complex<T> exponent) {
  const T real = exponent.real();
  if (exponent.imag() == 0 && std::abs(real) < 100 && real == std::trunc(real)) {
    std::complex<T> product = 1, factor = base;
    for (auto rest = static_cast<int>(std::abs(real)); rest != 0; rest >>= 1) {
      if ((rest & 1) != 0) product *= factor;
      if (rest > 1) factor *= factor;
    }
    return real < 0 ? T{1} / product : product;
  }
  if (base == T{0} && real > 0) return 0;
  return std::pow(base, exponent);
}

template <class T>
T power(T base, T exponent) {
  if constexpr (std::is_floating_point_v<T>) {
    return kernel::pow(base, exponent);
  } else {
    if (exponent < 0) {
      if (base != 1 && base != static_cast<T>(-1)) return 0;
      return exponent % 2 == 0 ? 1 : base;
    }
    auto factor = wrapping(base);
    auto product = wrapping(T{1});
    for (auto rest = wrapping(exponent); rest != 0; rest >>= 1) {
      if ((rest & 1) != 0) product *= factor;
      factor *= factor;
    }
    return static_cast<T>(product);
  }
}

// Whether e - 1 is exact in every dtype, or as far from a whole number as e is.
bool has_exact_predecessor(const Argument& exponent) {
  const tenon_value& value = exponent.value();
  if (value.tag == TENON_VALUE_TENSOR) return false;
  const double number = Scalar(value).to<double>();
  const double distance = std::fabs(number - std::rint(number));
  return std::fabs(number) <= 16 && (distance == 0 || distance >= 0.125);
}

Tensor is_even(const Tensor& e) { return eq(trunc(e * 0.5) * 2, e); }

// x^(e - 1) where e - 1 may be rounded to a number of the parity of e, from 2^24 (f64 2^53, bf16 2^8)
// on, or to a whole number, near 0: the sign of a negative number's power follows from e.
Tensor with_sign(const Tensor& power, const Tensor& x, const Tensor& e) {
  const Tensor negative = lt(x, 0);
  const Tensor turned = logical_and(negative, logical_and(is_even(e), is_even(e - 1)));
  const Tensor undefined = logical_and(negative, ne(trunc(e), e));
  return masked_fill(where(turned, -power, power), undefined,
                     std::numeric_limits<double>::quiet_NaN());
}

// The exponent of the derivative. The power of 0 is constant in x, while 0 * x^(-1) would be NaN at 0.
// Elsewhere the derivative of this by e is needed.
Tensor lower_exponent(const Tensor& x, const Tensor& e) {
  return masked_fill(e - 1, logical_and(eq(e, 0), logical_not(isfinite(1 / x))), 0);
}

TENON_OP_FUNCTION(Tensor, pow_backward, "pow_backward")

// One pass, in which the rounding of exponent - 1 is known: it counts as often as the logarithm of input,
// up to 100 units of f32, and 750 of f64.
struct PowBackward {
  static constexpr auto schema =
      "pow_backward(Tensor gradient, Tensor input, Tensor exponent, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc =
      "The gradient of input of pow: gradient * exponent * input^(exponent - 1), with the exact "
      "exponent - 1; 0 where exponent is.";
  static constexpr auto accuracy =
      "f32 4, f64 4; gradient f32 120, f64 800; of exponents below 1e6";
  static constexpr uint32_t dtypes = floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto element = [](auto gradient, auto x, auto e) {
    using T = decltype(x);
    using Limits = std::numeric_limits<T>;
    const T lower = e == T{0} ? T{0} : e - T{1}, back = lower - e;
    const T lost = (e - (lower - back)) + (T{-1} - back);  // not a number of infinite exponents
    const T size = std::fabs(x), most = size > Limits::max() ? Limits::max() : size;
    const T logarithm = kernel::log(most < Limits::min() ? Limits::min() : most);
    const T rest = e != T{0} && lost == lost ? lost * logarithm : T{0};
    // Numbers below 0: the sign follows from the exponent, which is one less than that of a power whose
    // parity e - 1 may have lost.
    const T power = kernel::pow(size, lower) * (T{1} + rest);
    const T half = e * T{0.5};
    const bool even = std::trunc(half) == half, minus = std::copysign(T{1}, x) < T{0};
    const T with_sign = minus && even ? -power : power;
    const bool undefined = x < T{0} && std::trunc(e) != e;
    return gradient * (e * (undefined ? Limits::quiet_NaN() : with_sign));
  };
  static constexpr auto saves = "gradient for input, gradient for exponent, input, exponent";
  static std::array<Tensor, 3> backward(ContextOf<PowBackward>& c, const Tensor& g) {
    const Tensor &x = c["input"_arg], e = c["exponent"_arg];
    const Tensor lower = lower_exponent(x, e);
    return needed_gradients(
        c, "gradient"_arg = [&] { return pow_backward(g, x, e); },
        "input"_arg = [&] { return pow_backward(g * c["gradient"_arg] * e, x, lower); },
        "exponent"_arg =
            [&] {
              const Tensor power = with_sign(pow(x, lower), x, e);
              const Tensor flat = logical_or(logical_and(eq(x, 0), ge(lower, 0)),
                                             logical_and(eq(x, infinity), lt(lower, 0)));
              const Tensor slope = power * (1 + e * log(masked_fill(x, flat, 1)));
              return g * c["gradient"_arg] * slope;
            });
  }
  static constexpr auto jvp = pointwise;
};

struct Pow {
  static constexpr auto schema =
      "pow(Tensor|Scalar input, Tensor|Scalar exponent, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "input to the power of exponent; of integers, a negative power rounds toward zero. Where "
      "input is "
      "0 the gradient of exponent is 0, unless exponent is below 0, and so is that of input where "
      "both "
      "are 0.";
  static constexpr auto accuracy =
      "f32 0.7, f64 1.1; gradient f32 4, f64 4; of exponents below 1e6";
  static constexpr uint32_t dtypes = floating_dtypes | integer_dtypes | complex_dtypes;
  static constexpr bool costly = true;
  static constexpr auto element = [](auto input, auto exponent) { return power(input, exponent); };
  static constexpr auto saves = "input, exponent, result for exponent";
  static std::array<Tensor, 2> backward(ContextOf<Pow>& c, const Tensor& g) {
    const Tensor x = operand_as(c["input"_arg], g.dtype()),
                 e = operand_as(c["exponent"_arg], g.dtype());
    Tensor dx, de;
    if (c.needs_input_grad("input"_arg)) {
      dx = is_complex(g.dtype()) || has_exact_predecessor(c["exponent"_arg])
               ? g * conjugate(e * pow(x, lower_exponent(x, e)))
               : pow_backward(g, x, e);
    }
    if (c.needs_input_grad("exponent"_arg)) {
      const Tensor zero = eq(x, 0);
      // So is the power of 0 or an infinity where it is 0: 0 times an infinite logarithm.
      const Tensor flat =
          is_complex(e.dtype())
              ? zero
              : logical_or(logical_and(zero, ge(e, 0)), logical_and(eq(x, infinity), lt(e, 0)));
      de = g * conjugate(c.result() * log(masked_fill(x, flat, 1)));
    }
    return {dx, de};
  }
  static constexpr auto jvp = pointwise;
};

struct Square {
  static constexpr auto schema = "square(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "input * input; of bools as i64.";
  static constexpr auto accuracy = "f32 0.5, f64 0.5; gradient f32 0, f64 0";
  static Tensor forward(const Tensor& input, const Tensor& out) {
    return mul(input, input.dtype() == boolean ? Argument(1) : Argument(input), out);
  }
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Square>& c, const Tensor& g) {
    return g * conjugate(c["input"_arg]) * 2;
  }
  static constexpr auto jvp = pointwise;
};

struct Sqrt : FloatOp {
  static constexpr auto schema = "sqrt(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The square root; NaN for negative numbers. Of complex numbers the one whose real part is "
      "not "
      "negative.";
  static constexpr auto accuracy = "f32 0.5, f64 0.5; gradient f32 1.6, f64 1.6";
  static constexpr auto element = [](auto x) { return std::sqrt(x); };
  static constexpr auto saves = "result";
  static Tensor backward(Context& c, const Tensor& g) { return g / (conjugate(c.result()) * 2); }
};

struct Rsqrt : FloatOp {
  static constexpr auto schema = "rsqrt(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "1 / sqrt(input).";
  static constexpr auto accuracy = "f32 1.6, f64 1.6; gradient f32 2.1, f64 2.1";
  static constexpr auto element = [](auto x) { return decltype(x)(1) / std::sqrt(x); };
  static constexpr auto saves = "input, result";
  static Tensor backward(ContextOf<Rsqrt>& c, const Tensor& g) {
    // The cube of the result has three times its error, and overflows where half of it does not.
    return g * -0.5 * conjugate(c.result()) / conjugate(c["input"_arg]);
  }
};

struct Reciprocal : FloatOp {
  static constexpr auto schema = "reciprocal(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "1 / input.";
  static constexpr auto accuracy = "f32 0.5, f64 0.5; gradient f32 2.1, f64 2.1";
  static constexpr auto element = [](auto x) { return decltype(x)(1) / x; };
  static constexpr auto saves = "result";
  static Tensor backward(Context& c, const Tensor& g) {
    const Tensor inverse = conjugate(c.result());
    return -g * inverse * inverse;
  }
};

TENON_OP_FUNCTION(Tensor, hypot_backward, "hypot_backward")

struct HypotBackward {
  static constexpr auto schema =
      "hypot_backward(Tensor gradient, Tensor input, Tensor other, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc =
      "gradient * input / hypot(input, other), the gradients of hypot: 0 where both are 0, and "
      "shared where both are infinite.";
  static constexpr auto accuracy =
      "f32 3, f64 3; gradient f32 12, f64 12; a sum, a root, a quotient and a product round; "
      "slopes: a third power";
  static constexpr uint32_t dtypes = floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto element = [](auto gradient, auto x, auto y) {
    using T = decltype(x);
    const math::ScaledPair<T> pair(x, y);
    const T share = pair.size_y == pair.endless ? T(0.70710678118654752440) : T{1};
    const T part = pair.squares == T{0} ? T{0} : pair.x / std::sqrt(pair.squares);
    return gradient * (pair.size_x == pair.endless ? std::copysign(share, x) : part);
  };
  static constexpr auto saves = "gradient for input, gradient for other, input, other";
  static std::array<Tensor, 3> backward(ContextOf<HypotBackward>& c, const Tensor& g) {
    const Tensor &x = c["input"_arg], &y = c["other"_arg];
    const auto across = [&] {
      const Tensor distance = hypot(x, y);
      const Tensor length = masked_fill(distance, eq(distance, 0), infinity);
      return hypot_backward(g * c["gradient"_arg] / length, y, x);
    };
    return needed_gradients(
        c, "gradient"_arg = [&] { return hypot_backward(g, x, y); },
        "input"_arg = [&] { return hypot_backward(across(), y, x); },
        "other"_arg = [&] { return -hypot_backward(across(), x, y); });
  }
  static constexpr auto jvp = pointwise;
};

struct Hypot : RealFloatOp {
  static constexpr auto schema =
      "hypot(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The square root of input^2 + other^2, without overflow on the way; infinite when either is. "
      "Where both are 0 the gradient is 0.";
  static constexpr auto accuracy =
      "f32 0.5, f64 1.7; gradient f32 3, f64 3; gradients where the result is not subnormal";
  static constexpr auto element = [](auto x, auto y) {
    if constexpr (std::is_same_v<decltype(x), float>) {
      const auto wide_x = static_cast<double>(x), wide_y = static_cast<double>(y);
      const double root = std::sqrt(wide_x * wide_x + wide_y * wide_y);  // neither can overflow
      return std::fabs(wide_x) == infinity || std::fabs(wide_y) == infinity ? infinity : root;
    } else {
      return kernel::hypot(x, y);
    }
  };
  static constexpr auto saves = "input, other";
  static std::array<Tensor, 2> backward(ContextOf<Hypot>& c, const Tensor& g) {
    const Tensor x = operand_as(c["input"_arg], g.dtype()),
                 y = operand_as(c["other"_arg], g.dtype());
    return needed_gradients(
        c, "input"_arg = [&] { return hypot_backward(g, x, y); },
        "other"_arg = [&] { return hypot_backward(g, y, x); });
  }
};

}  // namespace

TENON_OPS(PowBackward, HypotBackward)
TENON_OPS_WITH_IN_PLACE(Pow, Square, Sqrt, Rsqrt, Reciprocal, Hypot)
