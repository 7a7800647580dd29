// Sizes that are calculated from fractions, such as a range over a step.
#pragma once

#include <algorithm>
#include <cmath>

// The nearest whole number where `size` is within 1e-9 of it, or for sizes from some millions on
// within rounding: 88 * (120 / 88) is a little less than 120. Else `size`, to be rounded up or
// down.
inline double nearest_size(double size) {
  const double whole = std::round(size);
  const double rounding = 4e-16 * std::fabs(size);
  return std::fabs(size - whole) <= std::max(1e-9, rounding) ? whole : size;
}
