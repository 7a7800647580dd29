// Numbers of MPFR as values, and with their derivatives: what functions of ops are written in.
#pragma once

#include <array>
#include <mpfr.h>
#include <utility>

namespace accuracy {

// A number of the precision that is MPFR's default in the thread.
class Real {
 public:
  static constexpr bool is_exact = true;
  static Real pi();
  static Real ln2();

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
  bool is_minus() const { return mpfr_signbit(number_) != 0; }
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
inline Real abs(const Real& x) { return x.is_minus() ? -x : x; }
inline Real Real::pi() {
  Real result;
  mpfr_const_pi(result.get(), MPFR_RNDN);
  return result;
}
inline Real Real::ln2() {
  Real result;
  mpfr_const_log2(result.get(), MPFR_RNDN);
  return result;
}

inline Real floor(const Real& x) {
  Real result;
  mpfr_floor(result.get(), x.get());
  return result;
}
inline Real trunc(const Real& x) {
  Real result;
  mpfr_trunc(result.get(), x.get());
  return result;
}
inline Real round_to_even(const Real& x) {
  Real result;
  mpfr_rint_roundeven(result.get(), x.get(), MPFR_RNDN);
  return result;
}

}  // namespace accuracy
