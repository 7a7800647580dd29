// logaddexp, logaddexp2 and xlogy.
#include <cmath>

#include <tenon/plugin.hpp>
#include <tenon/kernel/complex.hpp>

#include "float_op.hpp"
#include "operand.hpp"

namespace {

using namespace tenon;

constexpr double ln2 = 0.693147180559945309417;

// The share of a in e^a + e^b, by which the gradient is divided: 1/2 for equal infinities.
Tensor share(const Tensor& a, const Tensor& b, double base) {
  const Tensor difference = (a - b) * base;
  return sigmoid(masked_fill(difference, logical_and(eq(a, b), logical_not(isfinite(a))), 0));
}
template <class Op>
std::array<Tensor, 2> divide(ContextOf<Op>& c, const Tensor& g, double base) {
  const Tensor a = operand_as(c["input"_arg], g.dtype()), b = operand_as(c["other"_arg], g.dtype());
  return needed_gradients(
      c, "input"_arg = [&] { return g * conjugate(share(a, b, base)); },
      "other"_arg = [&] { return g * conjugate(share(b, a, base)); });
}

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
      "f32 0.5, f64 2.6; gradient f32 70, f64 520; results of the larger operand";
  static constexpr auto element = [](auto x, auto y) { return log_sum(x, y); };
  static constexpr auto saves = "input, other";
  static std::array<Tensor, 2> backward(ContextOf<Logaddexp>& c, const Tensor& g) {
    return divide(c, g, 1);
  }
};

struct Logaddexp2 : FloatOp {
  static constexpr auto schema =
      "logaddexp2(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The logarithm to base 2 of 2^input + 2^other, without overflow. Integers give f32.";
  static constexpr auto accuracy =
      "f32 0.5, f64 2.7; gradient f32 160, f64 1240; results of the larger operand";
  static constexpr auto element = [](auto x, auto y) { return log2_sum(x, y); };
  static constexpr auto saves = "input, other";
  static std::array<Tensor, 2> backward(ContextOf<Logaddexp2>& c, const Tensor& g) {
    return divide(c, g, ln2);
  }
};

struct Xlogy : RealFloatOp {
  static constexpr auto schema =
      "xlogy(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "input * log(other); 0 where input is 0, unless other is NaN. Its gradients are 0 there "
      "where "
      "other is not above 0. Integers give f32.";
  static constexpr auto accuracy = "f32 0.5, f64 2; gradient f32 1.2, f64 1.7";
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

TENON_OPS(Logaddexp, Logaddexp2)
TENON_OPS_WITH_IN_PLACE(Xlogy)
