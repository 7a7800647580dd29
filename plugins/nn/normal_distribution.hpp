// The distribution function of the standard normal distribution, in loops that vectorize.
#pragma once

#include <tenon/kernel/math.hpp>

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

}  // namespace nn
