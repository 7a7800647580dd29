// Values with their derivatives: what functions of ops are written in.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "quick.hpp"
#include "real.hpp"

namespace accuracy {

// A value and its derivatives by up to three operands. A derivative of 0 stays 0, whatever it is multiplied
// by: an operand that has no part has none beside an infinite slope either.
template <class Number>
struct DualOf {
  Number value;
  std::array<Number, 3> slopes;

  DualOf(double number) : value(number) {}
  DualOf(Number number) : value(std::move(number)) {}
  static DualOf operand(double number, size_t place) {
    DualOf result(number);
    result.slopes[place] = Number(1);
    return result;
  }

  static Number times(const Number& slope, const Number& factor) {
    return slope.is_zero() ? Number() : slope * factor;
  }
  // The function with this value and this derivative at x.
  friend DualOf chain(const DualOf& x, Number value, const Number& slope) {
    DualOf result(std::move(value));
    for (size_t i = 0; i < 3; ++i) result.slopes[i] = times(x.slopes[i], slope);
    return result;
  }
  friend DualOf chain(const DualOf& x, const DualOf& y, Number value, const Number& by_x,
                      const Number& by_y) {
    DualOf result(std::move(value));
    for (size_t i = 0; i < 3; ++i)
      result.slopes[i] = times(x.slopes[i], by_x) + times(y.slopes[i], by_y);
    return result;
  }

  friend DualOf operator-(const DualOf& x) { return chain(x, -x.value, -1); }
  friend DualOf operator+(const DualOf& x, const DualOf& y) {
    return chain(x, y, x.value + y.value, 1, 1);
  }
  friend DualOf operator-(const DualOf& x, const DualOf& y) {
    return chain(x, y, x.value - y.value, 1, -1);
  }
  friend DualOf operator*(const DualOf& x, const DualOf& y) {
    return chain(x, y, x.value * y.value, y.value, x.value);
  }
  friend DualOf operator/(const DualOf& x, const DualOf& y) {
    const Number value = x.value / y.value;
    return chain(x, y, value, Number(1) / y.value, -value / y.value);
  }
};

}  // namespace accuracy
