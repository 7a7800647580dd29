// The inverse hyperbolic functions. f32 is computed in f64, so that it is off by less than one unit
// in the last place.
#include <tenon/plugin.hpp>

namespace {

using namespace tenon;

struct Asinh {
  static constexpr auto schema = "asinh(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The number whose hyperbolic sine is input.";
  static constexpr auto promotion = promote_float;
  static constexpr auto element = [](auto x) { return kernel::asinh(static_cast<double>(x)); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Asinh>& c, const Tensor& g) {
    return g * rsqrt(square(c["input"_arg]) + 1);
  }
  static constexpr auto jvp = pointwise;
};

struct Acosh {
  static constexpr auto schema = "acosh(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The number of [0, inf] whose hyperbolic cosine is input; NaN below 1.";
  static constexpr auto promotion = promote_float;
  static constexpr auto element = [](auto x) { return kernel::acosh(static_cast<double>(x)); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Acosh>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    return g * rsqrt((x - 1) * (x + 1));  // near 1 the square of x would lose digits
  }
  static constexpr auto jvp = pointwise;
};

struct Atanh {
  static constexpr auto schema = "atanh(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The number whose hyperbolic tangent is input; infinite for -1 and 1, NaN beyond them.";
  static constexpr auto promotion = promote_float;
  static constexpr auto element = [](auto x) { return kernel::atanh(static_cast<double>(x)); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Atanh>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    return g / ((1 - x) * (1 + x));
  }
  static constexpr auto jvp = pointwise;
};

}  // namespace

TENON_OP(Asinh)
TENON_OP(Acosh)
TENON_OP(Atanh)
