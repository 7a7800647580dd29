// The distribution function of the standard normal distribution, in loops that vectorize.
#pragma once

#include <cmath>

#include <tenon/kernel/gauss.hpp>

namespace nn {

// (1 + erf(x / sqrt(2))) / 2. The rounding of the quotient is up to 1,500 units of a small result: to multiply
// by what it took away takes 1.25 times as long.
TENON_INLINE double normal_distribution(double x) {
  return 0.5 * tenon::kernel::erfc(x * -0.70710678118654752440);
}
// Within 4 2^-24 of it, in a third of the time of glibc's vector erff, which looks up its coefficients:
// 1/2 + x P(x^2) / Q(x^2), both of degree 5 with positive coefficients. x P / Q is within 2e-8 of itself
// for |x| < 5.54, beyond which the result is 0 or 1.
TENON_INLINE float normal_distribution(float x) {
  constexpr float end = 5.5437f;
  const float s = x * x, s2 = s * s;
  const float p =
      (0.398942273f + 0.0336592945f * s) +
      s2 * ((0.00466236618f + 0.00016641728f * s) + s2 * (6.29509394e-06f + 2.26507054e-08f * s));
  const float q = (1.0f + 0.25103771f * s) + s2 * ((0.0285272072f + 0.00187114591f * s) +
                                                   s2 * (7.2658259e-05f + 1.19037404e-06f * s));
  const float middle = 0.5f + x * p / q;
  const float above = x > end ? 1.0f : middle;
  return x < -end ? 0.0f : above;
}

// gelu's derivative, Phi(x) + x phi(x) of the normal distribution and its density.
TENON_INLINE double gelu_slope(double x) {
  constexpr double inverse_root_two_pi = 0.39894228040143267794;
  return normal_distribution(x) + x * (inverse_root_two_pi * tenon::kernel::gauss(x, 0.5));
}
// phi(t) (M(t) - t) of t = -x, with Mills' ratio M = Phi(-t) / phi(t), which keeps the digits of the
// negative tail: a quotient of polynomials that is within 2^-27 of itself up to 14.6, beyond which the
// density is 0. Of a positive x it is 1 less that. The factor of the density is part of the difference, which
// saves its rounding; both polynomials begin just below a power of 2, where roundings are smallest.
TENON_INLINE float gelu_slope(float x) {
  constexpr float inverse_root_two_pi = 0.398942280f, end = 14.6f;
  const float size = std::fabs(x), t = size > end ? end : size, s = t * t;
  const float p = (0.949999988f + 0.83314383f * t) +
                  s * ((0.3484312f + 0.0772991255f * t) + s * 0.00783526711f);
  const float q = (1.89999998f + 3.1822691f * t) +
                  s * ((2.28593659f + 0.892745197f * t) + s * (0.193772286f + 0.0196398776f * t));
  const float tail = tenon::kernel::gauss(t, 0.5f) * (p / q - inverse_root_two_pi * t);
  return x < 0 ? tail : 1.0f - tail;
}

}  // namespace nn
