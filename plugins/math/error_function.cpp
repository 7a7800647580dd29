// The error function, its complement and its inverse.
#include <cmath>
#include <limits>

#include <tenon/plugin.hpp>
#include <tenon/kernel/gauss.hpp>
#include <tenon/ops.hpp>

#include "float_op.hpp"

namespace {

using namespace tenon;

constexpr double two_over_root_pi = 1.12837916709551257390;

TENON_OP_FUNCTION(Tensor, erf_backward, "erf_backward")

// The x >= 0 of which the error function is y, in [0, 1]: a rational approximation (the one of
// PyTorch's and MATLAB's erfinv), then two steps of Halley's method. From 1/2 on the residual is
// that of the complement, which keeps its digits.
TENON_INLINE double inverse_of(double y) {
  const double rest = 1 - y, square = y * y;
  const double center =
      y * (((-0.140543331 * square + 0.914624893) * square - 1.645349621) * square + 0.886226899) /
      ((((0.012229801 * square - 0.329097515) * square + 1.442710462) * square - 2.118377725) *
           square +
       1);
  const double z = std::sqrt(-kernel::log(rest / 2));
  const double tail = (((1.641345311 * z + 3.429567803) * z - 1.624906493) * z - 1.970840454) /
                      ((1.637067800 * z + 3.543889200) * z + 1);
  double x = y <= 0.7 ? center : tail;
  for (int step = 0; step < 2; ++step) {
    const double residual = y < 0.5 ? kernel::erf(x) - y : rest - kernel::erfc(x);
    const double newton = residual / (two_over_root_pi * kernel::exp(-x * x));
    x -= newton / (1 + x * newton);
  }
  return y == 1 ? std::numeric_limits<double>::infinity() : x;
}

struct Erf : RealFloatOp {
  static constexpr auto schema = "erf(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The error function.";
  static constexpr auto accuracy = "f32 2.1, f64 2.5; gradient f32 3, f64 2.5";
  static constexpr auto element = [](auto x) { return kernel::erf(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Erf>& c, const Tensor& g) {
    return erf_backward(g, c["input"_arg]);
  }
};

// One pass, in which the rounding of the square is known: that of input in exp(-input^2) would be up to 100
// units of f32, and 750 of f64.
struct ErfBackward {
  static constexpr auto schema =
      "erf_backward(Tensor gradient, Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The gradient of erf: gradient * exp(-input^2) * 2 / sqrt(pi), accurate to the last digits "
      "for "
      "large inputs, too.";
  static constexpr auto accuracy =
      "f32 3.8, f64 3.5; gradient f32 5, f64 4.5; where the slope is not subnormal";
  static constexpr uint32_t dtypes = floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto element = [](auto gradient, auto x) {
    using T = decltype(x);
    return gradient * (kernel::gauss(x) * static_cast<T>(two_over_root_pi));
  };
  static constexpr auto saves = "gradient for input, input";
  static std::array<Tensor, 2> backward(ContextOf<ErfBackward>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    return needed_gradients(
        c, "gradient"_arg = [&] { return erf_backward(g, x); },
        // The power is 0 from 40 on, and stays so.
        "input"_arg =
            [&] { return erf_backward(g * c["gradient"_arg], x) * (clamp(x, -40, 40) * -2); });
  }
  static constexpr auto jvp = pointwise;
};

struct Erfc : RealFloatOp {
  static constexpr auto schema = "erfc(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "1 - erf(input), accurate where erf is nearly 1.";
  static constexpr auto accuracy =
      "f32 0.5, f64 5.3; gradient f32 3, f64 2.5; f64: that of glibc's vector function";
  static constexpr auto element = [](auto x) { return kernel::erfc(static_cast<double>(x)); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Erfc>& c, const Tensor& g) {
    return erf_backward(-g, c["input"_arg]);
  }
};

struct Erfinv : RealFloatOp {
  static constexpr auto schema = "erfinv(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The number whose error function is input; infinite for -1 and 1, NaN beyond them.";
  static constexpr auto accuracy =
      "f32 0.5, f64 5; gradient f32 32, f64 80; f64: erf and erfc within Halley's steps; "
      "gradients: the result is rounded, and half a unit of it counts 2 result^2 times";
  static constexpr auto element = [](auto x) {
    const auto y = static_cast<double>(x);
    return std::copysign(inverse_of(std::fabs(y)), y);
  };
  static constexpr auto saves = "result";
  static Tensor backward(Context& c, const Tensor& g) {
    return g * exp(square(c.result())) * (1 / two_over_root_pi);
  }
};

}  // namespace

TENON_OPS(ErfBackward)
TENON_OPS_WITH_IN_PLACE(Erf, Erfc, Erfinv)
