// add, sub, mul, div and their in-place forms. Integers wrap around; division is true division.
#include <tenon/plugin.hpp>
#include <tenon/kernel/complex.hpp>

#include "float_op.hpp"
#include "operand.hpp"
#include "wrapping.hpp"

namespace {

using namespace tenon;

struct Add {
  static constexpr auto schema =
      "add(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha=1, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc = "input + alpha * other.";
  static constexpr auto accuracy = "f32 0.5, f64 0.5; gradient f32 0, f64 0";
  static constexpr uint32_t dtypes = computed_dtypes | complex_dtypes;
  static constexpr auto element = [](auto input, auto other, auto alpha) {
    return wrapping(input) + wrapping(alpha) * wrapping(other);
  };
  static std::array<Tensor, 2> backward(ContextOf<Add>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return g; }, "other"_arg = [&] { return g * c["alpha"_arg]; });
  }
  static constexpr auto jvp = pointwise;
};

struct Sub {
  static constexpr auto schema =
      "sub(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha=1, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc = "input - alpha * other.";
  static constexpr auto accuracy = "f32 0.5, f64 0.5; gradient f32 0, f64 0";
  static constexpr uint32_t dtypes = floating_dtypes | integer_dtypes | complex_dtypes;
  static constexpr auto element = [](auto input, auto other, auto alpha) {
    return wrapping(input) - wrapping(alpha) * wrapping(other);
  };
  static std::array<Tensor, 2> backward(ContextOf<Sub>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return g; },
        "other"_arg = [&] { return g * -c["alpha"_arg].to<double>(); });
  }
  static constexpr auto jvp = pointwise;
};

struct Mul {
  static constexpr auto schema =
      "mul(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "input * other.";
  static constexpr auto accuracy = "f32 0.5, f64 0.5; gradient f32 0, f64 0";
  static constexpr uint32_t dtypes = computed_dtypes | complex_dtypes;
  static constexpr auto element = [](auto input, auto other) {
    return wrapping(input) * wrapping(other);
  };
  static constexpr auto saves = "other for input, input for other";
  static std::array<Tensor, 2> backward(ContextOf<Mul>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return times_conjugate(g, c["other"_arg]); },
        "other"_arg = [&] { return times_conjugate(g, c["input"_arg]); });
  }
  static constexpr auto jvp = pointwise;
};

struct Div : FloatOp {
  static constexpr auto schema =
      "div(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "input / other as a floating or complex number; by zero gives an infinity or NaN.";
  static constexpr auto accuracy =
      "f32 0.5, f64 0.5; gradient f32 2.2, f64 2.1; gradients where the quotient is not subnormal "
      "and 1 / other in range; a kernel without a factor that leaves the range takes 1.5 times as "
      "long";
  static constexpr auto element = [](auto input, auto other) { return input / other; };
  static constexpr auto saves = "other, input for other";
  static std::array<Tensor, 2> backward(ContextOf<Div>& c, const Tensor& g) {
    const Tensor quotient = over_conjugate(g, c["other"_arg]);
    return needed_gradients(
        c, "input"_arg = [&] { return quotient; },
        "other"_arg = [&] { return -quotient * conjugate(div(c["input"_arg], c["other"_arg])); });
  }
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(Add, Sub, Mul, Div)
