// Numbers of long double with a bound of their error: what decides that a result needs no comparison with
// MPFR. A value without a bound, or a comparison that the bounds do not decide, is left to MPFR.
#pragma once

#include <cmath>
#include <limits>
#include <mpfr.h>

namespace accuracy {

// Set where a comparison was not decided.
inline thread_local bool quick_doubt = false;

class Quick {
 public:
  static constexpr bool is_exact = false;
  using Number = long double;

  Quick() : Quick(0.0) {}
  Quick(double value)
      : value_(value), error_(std::isfinite(value) || std::isnan(value) ? 0 : kNone) {}
  Quick(Number value, Number error) : value_(value), error_(error) {
    // Beyond the range of long double nothing is known; not a number stays that for certain.
    if (std::isinf(value) || (std::isnan(value) && error != 0)) *this = unknown();
  }
  static Quick unknown() {
    Quick result;
    result.value_ = std::numeric_limits<Number>::quiet_NaN();
    result.error_ = kNone;
    return result;
  }
  static Quick not_a_number() { return Quick(std::numeric_limits<double>::quiet_NaN()); }
  static Quick pi() { return {3.141592653589793238462643383279502884L, 0x1p-62L}; }
  static Quick ln2() { return {0.693147180559945309417232121458176568L, 0x1p-64L}; }

  Number value() const { return value_; }
  Number error() const { return error_; }
  bool is_known() const { return error_ != kNone; }
  bool is_nan() const { return decided(is_known()) && std::isnan(value_); }
  bool is_zero() const { return decided(error_ == 0 || std::fabs(value_) > error_) && value_ == 0; }
  bool is_whole() const { return decided(error_ == 0) && std::trunc(value_) == value_; }
  bool is_minus() const {
    return decided(error_ == 0 || std::fabs(value_) > error_) && std::signbit(value_);
  }
  double to_double() const { return static_cast<double>(value_); }

  // Whether the statement is known; notes where it is not.
  static bool decided(bool known) {
    if (!known) quick_doubt = true;
    return known;
  }
  // The relative error of one operation, and of a function of the C library: glibc documents at most 5 units.
  static constexpr Number kRounding = 0x1p-63L, kFunction = 0x1p-59L;
  // One that is subnormal.
  static constexpr Number kLeast = 0x1p-16440L;

 private:
  static constexpr Number kNone = std::numeric_limits<Number>::infinity();
  Number value_, error_;
};

// NaN for certain where an operand is; without a bound where an operand is.
inline bool has_no_value(const Quick& x, const Quick& y, Quick& result) {
  const bool x_nan = x.is_known() && std::isnan(x.value()),
             y_nan = y.is_known() && std::isnan(y.value());
  if (!x_nan && !y_nan && x.is_known() && y.is_known()) return false;
  result = x_nan || y_nan ? Quick::not_a_number() : Quick::unknown();
  return true;
}
inline Quick operator-(const Quick& x) { return {-x.value(), x.error()}; }
inline Quick operator+(const Quick& x, const Quick& y) {
  Quick result;
  if (has_no_value(x, y, result)) return result;
  const Quick::Number a = x.value(), b = y.value(), sum = a + b, part = sum - a;
  const Quick::Number rounding = (a - (sum - part)) + (b - part);
  return {sum, x.error() + y.error() + std::fabs(rounding)};
}
inline Quick operator-(const Quick& x, const Quick& y) { return x + -y; }
inline Quick operator*(const Quick& x, const Quick& y) {
  Quick result;
  if (has_no_value(x, y, result)) return result;
  const Quick::Number a = std::fabs(x.value()), b = std::fabs(y.value()),
                      product = x.value() * y.value();
  Quick::Number error = a * y.error() + b * x.error() + x.error() * y.error();
  const bool is_whole =
      (a == 1 && x.error() == 0) || (b == 1 && y.error() == 0) || a == 0 || b == 0;
  if (!is_whole) error += std::fabs(product) * Quick::kRounding + Quick::kLeast;
  return {product, error * (1 + Quick::kFunction)};
}
inline Quick operator/(const Quick& x, const Quick& y) {
  Quick result;
  if (has_no_value(x, y, result)) return result;
  const Quick::Number b = std::fabs(y.value());
  if (!(b > y.error())) return Quick::unknown();
  const Quick::Number quotient = x.value() / y.value();
  Quick::Number error = (x.error() + std::fabs(quotient) * y.error()) / (b - y.error());
  error += std::fabs(quotient) * Quick::kRounding + Quick::kLeast;
  return {quotient, error * (1 + Quick::kFunction)};
}
inline bool is_apart(const Quick& x, const Quick& y) {
  if (!x.is_known() || !y.is_known() || std::isnan(x.value()) || std::isnan(y.value()))
    return Quick::decided(x.is_known() && y.is_known());
  const Quick::Number errors = x.error() + y.error();
  return Quick::decided(errors == 0 || std::fabs(x.value() - y.value()) > 2 * errors);
}
inline bool operator<(const Quick& x, const Quick& y) {
  return is_apart(x, y) && x.value() < y.value();
}
inline bool operator>(const Quick& x, const Quick& y) { return y < x; }
inline bool operator==(const Quick& x, const Quick& y) {
  return is_apart(x, y) && x.value() == y.value();
}
inline Quick abs(const Quick& x) { return {std::fabs(x.value()), x.error()}; }

// A function of an operand with an error: monotone ones by both ends, others not at all.
using LongFunction = long double (*)(long double);
inline Quick quick_function(LongFunction function, const Quick& x, bool is_monotone) {
  Quick result;
  if (has_no_value(x, x, result)) return result;
  const Quick::Number value = function(x.value()), error = x.error();
  if (std::isnan(value)) return error == 0 ? Quick::not_a_number() : Quick::unknown();
  Quick::Number away = 0;
  if (error != 0) {
    if (!is_monotone) return Quick::unknown();
    const Quick::Number below = function(x.value() - error), above = function(x.value() + error);
    away = std::fmax(std::fabs(value - below), std::fabs(value - above));
    if (!std::isfinite(away)) return Quick::unknown();
    away += (std::fabs(below) + std::fabs(above)) * Quick::kFunction;
  }
  const bool is_exact = x.value() == 0 && value == 0;
  return {value, away + (is_exact ? 0 : std::fabs(value) * Quick::kFunction + Quick::kLeast)};
}
inline long double long_sech(long double x) { return 1 / std::cosh(x); }
// The distance from the nearest whole number is exact. Near 1/2 the cosine has an absolute error.
inline long double long_sinpi(long double x) {
  const long double whole = std::nearbyint(x), sine = std::sin((x - whole) * Quick::pi().value());
  return std::fmod(whole, 2.0L) == 0 ? sine : -sine;
}

// The function of MPFR by its function of long double.
template <int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)>
Quick apply(const Quick& x) {
  const auto monotone = [&](LongFunction each) { return quick_function(each, x, true); };
  const auto other = [&](LongFunction each) { return quick_function(each, x, false); };
  if constexpr (function == mpfr_sqrt) return monotone([](long double v) { return std::sqrt(v); });
  if constexpr (function == mpfr_exp) return monotone([](long double v) { return std::exp(v); });
  if constexpr (function == mpfr_exp2) return monotone([](long double v) { return std::exp2(v); });
  if constexpr (function == mpfr_expm1)
    return monotone([](long double v) { return std::expm1(v); });
  if constexpr (function == mpfr_log1p)
    return monotone([](long double v) { return std::log1p(v); });
  // The logarithms of 0 are infinite for MPFR too: unknown here.
  if constexpr (function == mpfr_log) return monotone([](long double v) { return std::log(v); });
  if constexpr (function == mpfr_log2) return monotone([](long double v) { return std::log2(v); });
  if constexpr (function == mpfr_log10)
    return monotone([](long double v) { return std::log10(v); });
  if constexpr (function == mpfr_tanh) return monotone([](long double v) { return std::tanh(v); });
  if constexpr (function == mpfr_erf) return monotone([](long double v) { return std::erf(v); });
  if constexpr (function == mpfr_erfc) return monotone([](long double v) { return std::erfc(v); });
  if constexpr (function == mpfr_sinh) return monotone([](long double v) { return std::sinh(v); });
  if constexpr (function == mpfr_asin) return monotone([](long double v) { return std::asin(v); });
  if constexpr (function == mpfr_acos) return monotone([](long double v) { return std::acos(v); });
  if constexpr (function == mpfr_atan) return monotone([](long double v) { return std::atan(v); });
  if constexpr (function == mpfr_asinh)
    return monotone([](long double v) { return std::asinh(v); });
  if constexpr (function == mpfr_acosh)
    return monotone([](long double v) { return std::acosh(v); });
  if constexpr (function == mpfr_atanh)
    return monotone([](long double v) { return std::atanh(v); });
  if constexpr (function == mpfr_sech) {
    const Quick size = abs(x);  // falls from 0 on
    return size.is_zero() || size > Quick(0.0) ? quick_function(long_sech, size, true)
                                               : Quick::unknown();
  }
  if constexpr (function == mpfr_cosh) return other([](long double v) { return std::cosh(v); });
  if constexpr (function == mpfr_sin) return other([](long double v) { return std::sin(v); });
  if constexpr (function == mpfr_cos) return other([](long double v) { return std::cos(v); });
  if constexpr (function == mpfr_tan) return other([](long double v) { return std::tan(v); });
  if constexpr (function == mpfr_sinpi) return other(long_sinpi);
  return Quick::unknown();
}
template <int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t)>
Quick apply(const Quick& x, const Quick& y) {
  if (x.error() != 0) return Quick::unknown();
  long double value = 0, away = 0;
  if constexpr (function == mpfr_pow) {
    value = std::pow(x.value(), y.value());
    // pow is constant or infinite at 0, where its logarithm is.
    if (y.error() != 0) away = std::fabs(value * std::log(std::fabs(x.value()))) * y.error() * 2;
    if (y.error() > 0x1p-40L || !std::isfinite(away) || std::isnan(value)) return Quick::unknown();
  } else {
    if (y.error() != 0 || std::isnan(x.value()) || std::isnan(y.value())) return Quick::unknown();
    if constexpr (function == mpfr_hypot)
      value = std::hypot(x.value(), y.value());
    else if constexpr (function == mpfr_atan2)
      value = std::atan2(x.value(), y.value());
    else if constexpr (function == mpfr_fmod) {
      value = std::fmod(x.value(), y.value());
      return std::isnan(value) ? Quick::unknown() : Quick(value, 0);  // exact
    } else
      return Quick::unknown();
  }
  if (std::isnan(value)) return Quick::unknown();
  return {value, away + std::fabs(value) * Quick::kFunction + Quick::kLeast};
}

// A whole number near x: exact where the bound of x decides it.
inline Quick rounded(const Quick& x, LongFunction function) {
  Quick result;
  if (has_no_value(x, x, result)) return result;
  const long double value = function(x.value());
  const bool decided = function(x.value() - x.error()) == function(x.value() + x.error());
  return {value, decided ? 0 : x.error() + 1 + std::fabs(value) * Quick::kRounding};
}
inline Quick floor(const Quick& x) {
  return rounded(x, [](long double v) { return std::floor(v); });
}
inline Quick trunc(const Quick& x) {
  return rounded(x, [](long double v) { return std::trunc(v); });
}
inline Quick round_to_even(const Quick& x) {
  return rounded(x, [](long double v) { return std::nearbyint(v); });
}

}  // namespace accuracy
