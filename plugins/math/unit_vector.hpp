// The direction of a point (x, y), for rules that divide by its distance from the origin.
#pragma once

#include <limits>

#include <tenon/ops.hpp>

// At the origin the direction is 0, and so are its derivatives: the choice of a gradient there. An
// infinite part has the whole direction, two share it.
struct UnitVector {
  tenon::Tensor length;  // infinite at the origin

  UnitVector(const tenon::Tensor& x, const tenon::Tensor& y) : UnitVector(hypot(x, y)) {}
  explicit UnitVector(const tenon::Tensor& distance)
      : length(masked_fill(distance, eq(distance, 0), infinity)) {}

  // x / length
  tenon::Tensor part(const tenon::Tensor& x, const tenon::Tensor& other) const {
    constexpr double root_half = 0.70710678118654752440;
    const tenon::Tensor whole = eq(abs(x), infinity), shared = eq(abs(other), infinity);
    const tenon::Tensor ratio = masked_fill(x, whole, 0) / length;
    const tenon::Tensor share = where(shared, root_half, ones_like(ratio));
    return where(whole, sign(x) * share, ratio);
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
};
