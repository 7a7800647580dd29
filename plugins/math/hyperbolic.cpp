// The inverse hyperbolic functions. f32 is computed in f64, so that it is off by less than one unit
// in the last place.
#include <limits>

#include <tenon/plugin.hpp>
#include <tenon/kernel/complex.hpp>
#include <tenon/ops.hpp>

#include "float_op.hpp"
#include "imaginary_unit.hpp"

namespace {

using namespace tenon;

template <class T>
double wide(T x) {
  return static_cast<double>(x);
}
template <class T>
std::complex<double> wide(std::complex<T> x) {
  return static_cast<std::complex<double>>(x);
}

struct Asinh : FloatOp {
  static constexpr auto schema = "asinh(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The number whose hyperbolic sine is input.";
  static constexpr auto accuracy = "f32 0.5, f64 2.5; gradient f32 1.7, f64 2.6";
  static constexpr auto element = [](auto x) { return kernel::asinh(wide(x)); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Asinh>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    // The square of a large x would overflow, and that of a complex one lose digits near i and -i.
    if (is_complex(x.dtype())) return g * conjugate(rsqrt(1 + times_i(x)) * rsqrt(1 - times_i(x)));
    return g / hypot(x, 1);
  }
};

TENON_OP_FUNCTION(Tensor, acosh_backward, "acosh_backward")

struct AcoshBackward {
  static constexpr auto schema =
      "acosh_backward(Tensor gradient, Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The gradient of acosh: gradient / sqrt(input^2 - 1).";
  static constexpr auto accuracy =
      "f32 3, f64 3; gradient f32 12, f64 12; two roots, a product and a quotient round; slopes: a "
      "third power";
  static constexpr uint32_t dtypes = floating_dtypes;
  static constexpr bool costly = true;
  // Two roots: near 1 the square of x would lose digits, and the product of two would overflow.
  static constexpr auto element = [](auto gradient, auto x) {
    return gradient / (std::sqrt(x - 1) * std::sqrt(x + 1));
  };
  static constexpr auto saves = "gradient for input, input";
  static std::array<Tensor, 2> backward(ContextOf<AcoshBackward>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    return needed_gradients(
        c, "gradient"_arg = [&] { return acosh_backward(g, x); },
        "input"_arg =
            [&] {
              // 0 at infinity, where any factor will do.
              constexpr double infinity = std::numeric_limits<double>::infinity();
              const Tensor finite = masked_fill(x, eq(x, infinity), 1);
              const Tensor once = acosh_backward(g * c["gradient"_arg], x) * -finite;
              return acosh_backward(acosh_backward(once, x), x);
            });
  }
  static constexpr auto jvp = pointwise;
};

struct Acosh : FloatOp {
  static constexpr auto schema = "acosh(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The number of [0, inf] whose hyperbolic cosine is input; NaN below 1.";
  static constexpr auto accuracy =
      "f32 0.5, f64 2.9; gradient f32 3.4, f64 3.3; f64: that of glibc's vector function";
  static constexpr auto element = [](auto x) { return kernel::acosh(wide(x)); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Acosh>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    return is_complex(x.dtype()) ? g * conjugate(rsqrt(x - 1) * rsqrt(x + 1))
                                 : acosh_backward(g, x);
  }
};

struct Atanh : FloatOp {
  static constexpr auto schema = "atanh(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The number whose hyperbolic tangent is input; infinite for -1 and 1, NaN beyond them.";
  static constexpr auto accuracy = "f32 0.5, f64 2.5; gradient f32 2.1, f64 2";
  static constexpr auto element = [](auto x) { return kernel::atanh(wide(x)); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Atanh>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    return g / conjugate(1 - x) / conjugate(1 + x);
  }
};

}  // namespace

TENON_OPS(AcoshBackward)
TENON_OPS_WITH_IN_PLACE(Asinh, Acosh, Atanh)
