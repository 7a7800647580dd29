// abs, neg, positive, sign, sgn, signbit, copysign and heaviside. The smallest integer has no opposite:
// abs and neg give it back.
#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/plugin.hpp>
#include <tenon/kernel/check.hpp>
#include <tenon/kernel/complex.hpp>

#include "float_op.hpp"
#include "operand.hpp"
#include "wrapping.hpp"

namespace {

using namespace tenon;

struct Abs {
  static constexpr auto schema = "abs(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The absolute value; of complex numbers it is real. The gradient is 0 at 0.";
  static constexpr auto accuracy = "exact";
  static constexpr auto promotion = promote_magnitude;
  static constexpr uint32_t dtypes = floating_dtypes | integer_dtypes | complex_dtypes;
  static constexpr auto element = [](auto x) {
    if constexpr (is_complex_number<decltype(x)>)
      return std::abs(x);
    else if constexpr (std::is_floating_point_v<decltype(x)>)
      return std::fabs(x);
    else
      return x < 0 ? -wrapping(x) : wrapping(x);
  };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Abs>& c, const Tensor& g) { return g * sgn(c["input"_arg]); }
  static Tensor jvp(ContextOf<Abs>& c, const Tensor& tangent) {
    const Tensor direction = sgn(c["input"_arg]);
    return is_complex(direction.dtype()) ? real(conj(direction) * tangent) : direction * tangent;
  }
};

struct Neg {
  static constexpr auto schema = "neg(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "-input.";
  static constexpr auto accuracy = "exact";
  static constexpr uint32_t dtypes = floating_dtypes | integer_dtypes | complex_dtypes;
  static constexpr auto element = [](auto x) { return -wrapping(x); };
  static Tensor backward(Context&, const Tensor& g) { return -g; }
  static constexpr auto jvp = pointwise;
};

struct Sign {
  static constexpr auto schema = "sign(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "1 for positive elements, -1 for negative ones, 0 for the rest, NaN among them. The gradient "
      "is 0.";
  static constexpr auto accuracy = "exact";
  static constexpr auto element = [](auto x) {
    if constexpr (std::is_same_v<decltype(x), bool>)
      return x;
    else
      return (x > 0) - (x < 0);
  };
  static Tensor backward(Context&, const Tensor& g) { return zeros_like(g); }
  static constexpr auto jvp = pointwise;
};

// x / |x| and 0 for 0, of a number that is scaled by its larger part: the size of x may overflow.
// An infinite part has the whole direction, two share it.
template <class T>
std::complex<T> direction_of(std::complex<T> x) {
  T a = x.real(), b = x.imag();
  if (std::isinf(a) || std::isinf(b)) {
    a = std::copysign(static_cast<T>(std::isinf(a) ? 1 : 0), a);
    b = std::copysign(static_cast<T>(std::isinf(b) ? 1 : 0), b);
  }
  const T larger = std::max(std::fabs(a), std::fabs(b));
  if (larger == 0) return {};
  a /= larger;
  b /= larger;
  const T size = std::sqrt(a * a + b * b);
  return {a / size, b / size};
}

struct Sgn {
  static constexpr auto schema = "sgn(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "sign() of real numbers; input / abs(input) of complex ones, 0 for 0. Where input is 0 the "
      "gradient is 0.";
  static constexpr uint32_t dtypes = computed_dtypes | complex_dtypes;
  static constexpr auto element = [](auto x) {
    using T = decltype(x);
    if constexpr (is_complex_number<T>) {
      return direction_of(x);
    } else {
      return Sign::element(x);
    }
  };
  static constexpr auto saves = "input, result";
  // The part of a change along the number changes its size alone, and is dropped.
  static Tensor turned(const Tensor& change, const Tensor& input, const Tensor& result) {
    if (!is_complex(result.dtype())) return zeros_like(change);
    const Tensor size = abs(input), ratio = change / masked_fill(size, eq(size, 0), infinity);
    return ratio - result * real(conj(result) * ratio);
  }
  static Tensor backward(ContextOf<Sgn>& c, const Tensor& g) {
    return turned(g, c["input"_arg], c.result());
  }
  static Tensor jvp(ContextOf<Sgn>& c, const Tensor& tangent) {
    return turned(tangent, c["input"_arg], c.result());
  }
  static constexpr double infinity = std::numeric_limits<double>::infinity();
};

struct Positive {
  static constexpr auto schema = "positive(Tensor(a) input) -> Tensor(a)";
  static constexpr auto doc = "input as it is; bools are refused.";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input) {
    kernel::check_dtype("positive", "input", input.dtype(),
                        floating_dtypes | integer_dtypes | complex_dtypes);
    return input;
  }
  static Tensor backward(Context&, const Tensor& g) { return g; }
};

struct Signbit {
  static constexpr auto schema = "signbit(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Whether the sign of an element is set: of -0.0 and of -NaN, too.";
  static constexpr auto promotion = promote_compare;
  static constexpr bool zero_gradient = true;
  static constexpr auto element = [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>)
      return std::signbit(x);
    else
      return std::is_signed_v<decltype(x)> && x < decltype(x){};
  };
};

// 1 or -1 where the signs agree or differ, 0 where x is 0: the derivative of copysign by x.
Tensor agreement(const Argument& x, const Tensor& result, DType dtype) {
  return sign(operand_as(x, dtype)) * sign(result);
}

struct Copysign : RealFloatOp {
  static constexpr auto schema =
      "copysign(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The absolute value of input with the sign of other, that of zeros included. The gradient of "
      "other is 0, and that of input where input is 0.";
  static constexpr auto accuracy = "exact";
  static constexpr auto element = [](auto input, auto other) {
    return std::copysign(input, other);
  };
  static constexpr auto saves = "input for input, result for input";
  static std::array<Tensor, 2> backward(ContextOf<Copysign>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return g * agreement(c["input"_arg], c.result(), g.dtype()); },
        "other"_arg = [&] { return zeros_like(g); });
  }
};

struct Heaviside {
  static constexpr auto schema =
      "heaviside(Tensor|Scalar input, Tensor|Scalar values, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "0 where input is negative or NaN, 1 where it is positive, values where it is 0. The "
      "gradient of "
      "input is 0.";
  static constexpr auto element = [](auto input, auto values) {
    using T = decltype(input);
    return input == 0 ? values : static_cast<T>(input > 0);
  };
  static constexpr auto saves = "input for values";
  static std::array<Tensor, 2> backward(ContextOf<Heaviside>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return zeros_like(g); },
        "values"_arg = [&] { return where(eq(c["input"_arg], 0), g, 0); });
  }
  static constexpr auto jvp = pointwise;
};

}  // namespace

TENON_OPS(Positive, Signbit)
TENON_OPS_WITH_IN_PLACE(Abs, Neg, Sign, Sgn, Copysign, Heaviside)
