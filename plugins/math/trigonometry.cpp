// Sine, cosine, tangent and their inverses, in radians; sinc.
#include <cmath>
#include <limits>
#include <type_traits>

#include <tenon/plugin.hpp>
#include <tenon/kernel/complex.hpp>

#include "float_op.hpp"
#include "imaginary_unit.hpp"
#include "operand.hpp"
#include "scaled_pair.hpp"

namespace {

using namespace tenon;

struct Sin : FloatOp {
  static constexpr auto schema = "sin(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The sine.";
  static constexpr auto accuracy = "f32 1.9, f64 2.2; gradient f32 2, f64 2.3";
  static constexpr auto element = [](auto x) { return kernel::sin(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Sin>& c, const Tensor& g) {
    return g * conjugate(cos(c["input"_arg]));
  }
};

struct Cos : FloatOp {
  static constexpr auto schema = "cos(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The cosine.";
  static constexpr auto accuracy = "f32 2, f64 2.3; gradient f32 1.9, f64 2.2";
  static constexpr auto element = [](auto x) { return kernel::cos(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Cos>& c, const Tensor& g) {
    return -g * conjugate(sin(c["input"_arg]));
  }
};

struct Tan : FloatOp {
  static constexpr auto schema = "tan(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The tangent.";
  static constexpr auto accuracy =
      "f32 2.7, f64 2.5; gradient f32 5.2, f64 5.2; f32: a quotient of two polynomials; gradients: "
      "twice the error of the result, in its square";
  static constexpr auto element = [](auto x) { return kernel::tan(x); };
  static constexpr auto saves = "input, result";
  static Tensor backward(ContextOf<Tan>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    if (!is_complex(x.dtype())) return g * (square(c.result()) + 1);
    // Far from the real axis the result is i or -i, and its square would leave 1 - 1.
    const Tensor turned = times_i(x) * 2;
    return g * conjugate(sigmoid(turned) * sigmoid(-turned) * 4);
  }
};

TENON_OP_FUNCTION(Tensor, asin_backward, "asin_backward")
TENON_OP_FUNCTION(Tensor, atan2_backward, "atan2_backward")

struct AsinBackward {
  static constexpr auto schema =
      "asin_backward(Tensor gradient, Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The gradient of asin: gradient / sqrt(1 - input^2).";
  static constexpr auto accuracy =
      "f32 1.9, f64 1.9; gradient f32 12, f64 12; slopes: a third power";
  static constexpr uint32_t dtypes = floating_dtypes;
  static constexpr bool costly = true;
  // A product of two: near 1 the square of x would lose digits.
  static constexpr auto element = [](auto gradient, auto x) {
    return gradient / std::sqrt((1 - x) * (1 + x));
  };
  static constexpr auto saves = "gradient for input, input";
  static std::array<Tensor, 2> backward(ContextOf<AsinBackward>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    return needed_gradients(
        c, "gradient"_arg = [&] { return asin_backward(g, x); },
        "input"_arg =
            [&] {
              const Tensor once = asin_backward(g * c["gradient"_arg] * x, x);
              return asin_backward(asin_backward(once, x), x);
            });
  }
  static constexpr auto jvp = pointwise;
};

// The gradient of asin; that of complex numbers in two roots.
Tensor over_cosine(const Tensor& g, const Tensor& x) {
  return is_complex(x.dtype()) ? g * conjugate(rsqrt(1 - x) * rsqrt(1 + x)) : asin_backward(g, x);
}

struct Asin : FloatOp {
  static constexpr auto schema = "asin(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The angle in [-pi/2, pi/2] whose sine is input; NaN outside of [-1, 1], where complex "
      "numbers "
      "have one.";
  static constexpr auto accuracy = "f32 2.3, f64 2.5; gradient f32 2.2, f64 2.2";
  static constexpr auto element = [](auto x) { return kernel::asin(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Asin>& c, const Tensor& g) {
    return over_cosine(g, c["input"_arg]);
  }
};

struct Acos : FloatOp {
  static constexpr auto schema = "acos(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The angle in [0, pi] whose cosine is input; NaN outside of [-1, 1], where complex numbers "
      "have one.";
  static constexpr auto accuracy = "f32 2.2, f64 1.8; gradient f32 3.3, f64 2.9";
  static constexpr auto element = [](auto x) { return kernel::acos(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Acos>& c, const Tensor& g) {
    return over_cosine(-g, c["input"_arg]);
  }
};

struct Atan : FloatOp {
  static constexpr auto schema = "atan(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The angle in [-pi/2, pi/2] whose tangent is input.";
  static constexpr auto accuracy = "f32 2.3, f64 2.3; gradient f32 2.4, f64 2.4";
  static constexpr auto element = [](auto x) { return kernel::atan(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Atan>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    // The square of a complex number loses digits near i and -i, and an overflow of it is NaN.
    if (is_complex(x.dtype())) return g / conjugate(1 + times_i(x)) / conjugate(1 - times_i(x));
    return atan2_backward(g, full({}, 1, x.dtype()), x);
  }
};

// One pass.
template <class T>
TENON_INLINE T over_square(T gradient, T x, T y) {
  const math::ScaledPair<T> pair(x, y);
  const bool flat = pair.squares == T{0} || pair.size_x == pair.endless ||
                    (pair.size_y == pair.endless && x == x);
  // In two factors: the largest scale would overflow, and a quotient that is subnormal have lost digits.
  return flat ? T{0} : gradient * (pair.x * (pair.scale * T{0.5}) / pair.squares * T{2});
}

struct Atan2Backward {
  static constexpr auto schema =
      "atan2_backward(Tensor gradient, Tensor input, Tensor other, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc =
      "gradient * input / (input^2 + other^2), the gradients of atan2, without overflow on the "
      "way; 0 where both are 0, or one is infinite.";
  static constexpr auto accuracy =
      "f32 3, f64 3; gradient f32 5, f64 5; slopes of gradient / (input^2 + other^2) where they "
      "are "
      "smaller";
  static constexpr uint32_t dtypes = floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto element = [](auto gradient, auto x, auto y) {
    return over_square(gradient, x, y);
  };
  static constexpr auto saves = "gradient for input, gradient for other, input, other";
  static std::array<Tensor, 3> backward(ContextOf<Atan2Backward>& c, const Tensor& g) {
    const Tensor &x = c["input"_arg], &y = c["other"_arg];
    const auto part = [&](const Tensor& one, const Tensor& other) {
      return atan2_backward(ones_like(g), one, other);
    };
    return needed_gradients(
        c, "gradient"_arg = [&] { return atan2_backward(g, x, y); },
        "input"_arg =
            [&] {
              const Tensor along = part(x, y), across = part(y, x);
              return g * c["gradient"_arg] * ((across - along) * (across + along));
            },
        "other"_arg =
            [&] { return atan2_backward(g * c["gradient"_arg], x, y) * part(y, x) * -2; });
  }
  static constexpr auto jvp = pointwise;
};

struct Atan2 : RealFloatOp {
  static constexpr auto schema =
      "atan2(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The angle in [-pi, pi] of the point (other, input). Where both are 0 the gradient is 0.";
  static constexpr auto accuracy =
      "f32 2.3, f64 2.7; gradient f32 3, f64 3; f64: a quotient that rounds before its arc tangent";
  static constexpr auto element = [](auto y, auto x) { return kernel::atan2(y, x); };
  static constexpr auto saves = "input, other";
  static std::array<Tensor, 2> backward(ContextOf<Atan2>& c, const Tensor& g) {
    const Tensor y = operand_as(c["input"_arg], g.dtype()),
                 x = operand_as(c["other"_arg], g.dtype());
    return needed_gradients(
        c, "input"_arg = [&] { return atan2_backward(g, x, y); },
        "other"_arg = [&] { return atan2_backward(-g, y, x); });
  }
};

constexpr double pi = 3.14159265358979323846;

TENON_OP_FUNCTION(Tensor, addcdiv, "addcdiv")
TENON_OP_FUNCTION(Tensor, addcmul, "addcmul")

// The derivative of sinc: its series up to 1/2, where the formula loses digits.
Tensor sinc_slope(const Tensor& x) {
  const Tensor is_near = lt(is_complex(x.dtype()) ? square(abs(x)) : x * x, 0.25);
  const Tensor near = masked_fill(x, logical_not(is_near), 0), far = masked_fill(x, is_near, 1);
  const Tensor square_near = square(near);
  // The coefficient of x^(2k-1): (-1)^k 2k pi^(2k) / (2k + 1)!
  const bool wide = x.dtype() == f64 || x.dtype() == c128;
  const int terms = wide ? 11 : 7;
  double coefficients[12] = {}, factor = 1;
  for (int k = 1; k <= terms; ++k) {
    factor *= pi * pi / ((2 * k) * (2 * k + 1));
    coefficients[k] = (k % 2 == 0 ? 2 : -2) * k * factor;
  }
  Tensor series = full({}, coefficients[terms], x.dtype());
  for (int k = terms - 1; k >= 1; --k)
    // One pass takes less time where elements are wide.
    series = wide ? addcmul(full({}, coefficients[k], x.dtype()), series, square_near)
                  : series * square_near + coefficients[k];
  // pi times a large x has few digits left for the angle: whole turns are subtracted before.
  const Tensor part = is_complex(x.dtype()) ? far : far - round(far * 0.5) * 2;
  const Tensor angle = part * pi, slope = addcdiv(cos(angle), sin(angle), far * -pi) / far;
  return where(is_near, series * near, slope);
}

// pi * x would round; x less a whole number does not.
template <class T>
double sinc_of(T given) {
  const auto x = static_cast<double>(given);
  const double whole = std::nearbyint(x), half = whole * 0.5;
  const double sine = kernel::sin(pi * (x - whole));
  const double value = (half == std::nearbyint(half) ? sine : -sine) / (pi * x);
  return x == 0 ? 1 : x - whole == 0 ? 0 : value;
}
template <class T>
std::complex<T> sinc_of(std::complex<T> given) {
  const auto x = static_cast<std::complex<double>>(given);
  if (x == 0.0) return 1;
  const double whole = std::nearbyint(x.real()), half = whole * 0.5;
  const std::complex<double> sine = std::sin(pi * (x - whole));
  const std::complex<double> value = (half == std::nearbyint(half) ? sine : -sine) / (pi * x);
  return static_cast<std::complex<T>>(value);
}

struct Sinc : FloatOp {
  static constexpr auto schema = "sinc(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "sin(pi * input) / (pi * input), 1 for 0; exactly 0 for other whole numbers, NaN for "
      "infinities.";
  static constexpr auto accuracy =
      "f32 0.5, f64 2.7; gradient f32 3.6, f64 3.6; gradients beyond 1/2 of 1 / input; "
      "f64: a sine, two products and a quotient";
  static constexpr auto element = [](auto x) { return sinc_of(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Sinc>& c, const Tensor& g) {
    return g * conjugate(sinc_slope(c["input"_arg]));
  }
};

}  // namespace

TENON_OPS(AsinBackward, Atan2Backward)
TENON_OPS_WITH_IN_PLACE(Sin, Cos, Tan, Asin, Acos, Atan, Atan2, Sinc)
