// Numbers of MPFR as values, and with their derivatives: what functions of ops are written in.
#pragma once

#include <array>
#include <mpfr.h>
#include <utility>

namespace accuracy {

// A number of the precision that is MPFR's default in the thread.
class Real {
 public:
  Real() : Real(0.0) {}
  Real(double value) {
    mpfr_init(number_);
    mpfr_set_d(number_, value, MPFR_RNDN);
  }
  Real(const Real& other) {
    mpfr_init(number_);
    mpfr_set(number_, other.number_, MPFR_RNDN);
  }
  Real(Real&& other) noexcept : Real() { mpfr_swap(number_, other.number_); }
  Real& operator=(Real other) noexcept {
    mpfr_swap(number_, other.number_);
    return *this;
  }
  ~Real() { mpfr_clear(number_); }

  mpfr_ptr get() { return number_; }
  mpfr_srcptr get() const { return number_; }
  bool is_nan() const { return mpfr_nan_p(number_) != 0; }
  bool is_zero() const { return mpfr_zero_p(number_) != 0; }
  bool is_whole() const { return mpfr_integer_p(number_) != 0; }
  double to_double() const { return mpfr_get_d(number_, MPFR_RNDN); }

 private:
  mpfr_t number_;
};

// A function of MPFR of one number, or of two.
template <int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)>
Real apply(const Real& x) {
  Real result;
  function(result.get(), x.get(), MPFR_RNDN);
  return result;
}
template <int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t)>
Real apply(const Real& x, const Real& y) {
  Real result;
  function(result.get(), x.get(), y.get(), MPFR_RNDN);
  return result;
}

inline Real operator+(const Real& x, const Real& y) { return apply<mpfr_add>(x, y); }
inline Real operator-(const Real& x, const Real& y) { return apply<mpfr_sub>(x, y); }
inline Real operator*(const Real& x, const Real& y) { return apply<mpfr_mul>(x, y); }
inline Real operator/(const Real& x, const Real& y) { return apply<mpfr_div>(x, y); }
inline Real operator-(const Real& x) { return apply<mpfr_neg>(x); }
inline bool operator<(const Real& x, const Real& y) { return mpfr_less_p(x.get(), y.get()) != 0; }
inline bool operator>(const Real& x, const Real& y) { return y < x; }
inline bool operator==(const Real& x, const Real& y) { return mpfr_equal_p(x.get(), y.get()) != 0; }
inline Real abs(const Real& x) { return mpfr_signbit(x.get()) != 0 ? -x : x; }
inline Real pi() {
  Real result;
  mpfr_const_pi(result.get(), MPFR_RNDN);
  return result;
}
inline Real ln2() {
  Real result;
  mpfr_const_log2(result.get(), MPFR_RNDN);
  return result;
}

// A value and its derivatives by up to three operands. A derivative of 0 stays 0, whatever it is multiplied
// by: an operand that has no part has none beside an infinite slope either.
struct Dual {
  Real value;
  std::array<Real, 3> slopes;

  Dual(double number) : value(number) {}
  Dual(Real number) : value(std::move(number)) {}
  static Dual operand(double number, size_t place) {
    Dual result(number);
    result.slopes[place] = Real(1);
    return result;
  }
};

inline Real times(const Real& slope, const Real& factor) {
  return slope.is_zero() ? Real() : slope * factor;
}
// The function with this value and this derivative at x.
inline Dual chain(const Dual& x, Real value, const Real& slope) {
  Dual result(std::move(value));
  for (size_t i = 0; i < 3; ++i) result.slopes[i] = times(x.slopes[i], slope);
  return result;
}
inline Dual chain(const Dual& x, const Dual& y, Real value, const Real& by_x, const Real& by_y) {
  Dual result(std::move(value));
  for (size_t i = 0; i < 3; ++i)
    result.slopes[i] = times(x.slopes[i], by_x) + times(y.slopes[i], by_y);
  return result;
}

inline Dual operator-(const Dual& x) { return chain(x, -x.value, -1); }
inline Dual operator+(const Dual& x, const Dual& y) { return chain(x, y, x.value + y.value, 1, 1); }
inline Dual operator-(const Dual& x, const Dual& y) {
  return chain(x, y, x.value - y.value, 1, -1);
}
inline Dual operator*(const Dual& x, const Dual& y) {
  return chain(x, y, x.value * y.value, y.value, x.value);
}
inline Dual operator/(const Dual& x, const Dual& y) {
  const Real value = x.value / y.value;
  return chain(x, y, value, Real(1) / y.value, -value / y.value);
}

}  // namespace accuracy
