// Exponentials and logarithms.
#include <tenon/plugin.hpp>
#include <tenon/kernel/complex.hpp>
#include <tenon/ops.hpp>

#include "float_op.hpp"

namespace {

using namespace tenon;

constexpr double ln2 = 0.693147180559945309417, ln10 = 2.30258509299404568402;

struct Exp : FloatOp {
  static constexpr auto schema = "exp(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "e to the power of input.";
  static constexpr auto accuracy = "f32 1.1, f64 1.2; gradient f32 1.1, f64 1.2";
  static constexpr auto element = [](auto x) { return kernel::exp(x); };
  static constexpr auto saves = "result";
  static Tensor backward(Context& c, const Tensor& g) { return g * conjugate(c.result()); }
};

struct Exp2 : FloatOp {
  static constexpr auto schema = "exp2(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "2 to the power of input.";
  static constexpr auto accuracy = "f32 1.2, f64 1.8; gradient f32 1.9, f64 2.7";
  static constexpr auto element = [](auto x) { return kernel::exp2(x); };
  static constexpr auto saves = "result";
  static Tensor backward(Context& c, const Tensor& g) { return g * conjugate(c.result()) * ln2; }
};

TENON_OP_FUNCTION(Tensor, exp_backward, "exp_backward")

struct ExpBackward {
  static constexpr auto schema =
      "exp_backward(Tensor gradient, Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "gradient * exp(input), the gradient of exp and of expm1.";
  static constexpr auto accuracy = "f32 1.6, f64 1.8; gradient f32 2.2, f64 2.4";
  static constexpr uint32_t dtypes = floating_dtypes;
  static constexpr bool costly = true;
  static constexpr auto element = [](auto gradient, auto x) { return gradient * kernel::exp(x); };
  static constexpr auto saves = "gradient for input, input";
  static std::array<Tensor, 2> backward(ContextOf<ExpBackward>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    return needed_gradients(
        c, "gradient"_arg = [&] { return exp_backward(g, x); },
        "input"_arg = [&] { return exp_backward(g * c["gradient"_arg], x); });
  }
  static constexpr auto jvp = pointwise;
};

struct Expm1 : FloatOp {
  static constexpr auto schema = "expm1(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "exp(input) - 1, accurate near 0.";
  static constexpr auto accuracy = "f32 1.6, f64 2; gradient f32 1.1, f64 1.2";
  static constexpr auto element = [](auto x) { return kernel::expm1(x); };
  // The result plus 1 would be 0 from -37 on.
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Expm1>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    return is_complex(x.dtype()) ? g * conjugate(exp(x)) : exp_backward(g, x);
  }
};

struct Log : FloatOp {
  static constexpr auto schema = "log(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The natural logarithm; -inf for 0, NaN for negative numbers. Of complex numbers the one "
      "whose "
      "imaginary part is in [-pi, pi].";
  static constexpr auto accuracy = "f32 1.2, f64 1.7; gradient f32 0.5, f64 0.5";
  static constexpr auto element = [](auto x) { return kernel::log(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Log>& c, const Tensor& g) {
    return g / conjugate(c["input"_arg]);
  }
};

struct Log2 : FloatOp {
  static constexpr auto schema = "log2(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The logarithm to base 2.";
  static constexpr auto accuracy = "f32 2.1, f64 2.1; gradient f32 0.8, f64 0.7";
  static constexpr auto element = [](auto x) { return kernel::log2(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Log2>& c, const Tensor& g) {
    return g * (1 / ln2) / conjugate(c["input"_arg]);  // the product could overflow
  }
};

struct Log10 : FloatOp {
  static constexpr auto schema = "log10(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The logarithm to base 10.";
  static constexpr auto accuracy =
      "f32 3.3, f64 2.2; gradient f32 1, f64 2.1; "
      "just below 3/4 the logarithms of exponent and fraction cancel: a closer polynomial takes "
      "1.3 "
      "of the time";
  static constexpr auto element = [](auto x) { return kernel::log10(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Log10>& c, const Tensor& g) {
    return g * (1 / ln10) / conjugate(c["input"_arg]);
  }
};

struct Log1p : FloatOp {
  static constexpr auto schema = "log1p(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "log(1 + input), accurate near 0.";
  static constexpr auto accuracy = "f32 2, f64 2; gradient f32 1.7, f64 1.7";
  static constexpr auto element = [](auto x) { return kernel::log1p(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Log1p>& c, const Tensor& g) {
    return g / conjugate(c["input"_arg] + 1);
  }
};

}  // namespace

TENON_OPS(ExpBackward)
TENON_OPS_WITH_IN_PLACE(Exp, Exp2, Expm1, Log, Log2, Log10, Log1p)
