// The distribution function of the standard normal distribution, in loops that vectorize.
#pragma once

#include <cmath>

#include <tenon/kernel/gauss.hpp>

namespace nn {

// (1 + erf(x / sqrt(2))) / 2.
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
// density is 0. Of a positive x it is 1 less that.
TENON_INLINE float gelu_slope(float x) {
  constexpr float inverse_root_two_pi = 0.398942280f, end = 14.6f;
  const float size = std::fabs(x), t = size > end ? end : size, s = t * t;
  const float p =
      (1.2533141f + 1.0991484f * t) + s * ((0.45967764f + 0.10197904f * t) + s * 0.0103368955f);
  const float q = (1.0f + 1.6748785f * t) +
                  s * ((1.2031245f + 0.4698659f * t) + s * (0.10198542f + 0.010336778f * t));
  const float density = inverse_root_two_pi * tenon::kernel::gauss(t, 0.5f);
  const float tail = density * (p / q - t);
  return x < 0 ? tail : 1.0f - tail;
}

}  // namespace nn
