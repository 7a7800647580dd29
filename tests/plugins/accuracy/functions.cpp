#include "functions.hpp"

#include <cmath>
#include <limits>

namespace accuracy {

namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

// ---- scales ----

// Points whose distance from the origin is beyond the range, or subnormal, are left out.
double distance_in_range(const Numbers& x, const Range& range) {
  return std::hypot(x[0], x[1]) <= range.largest ? 0 : kInfinity;
}
double normal_distance(const Numbers& x, const Range& range) {
  return std::hypot(x[0], x[1]) >= range.smallest ? 0 : kInfinity;
}

// Beside zeros of lgamma and digamma between the negative whole numbers the roundings of the reflection count.
double one_below_0(const Numbers& x, const Range&) { return x[0] < 0 ? 1 : 0; }
double largest_operand(const Numbers& x, const Range&) {
  double result = 0;
  for (const double each : x) result = std::fmax(result, std::fabs(each));
  return result;
}
// A power of e that is subnormal has lost digits before it is multiplied.
double tiny(const Range& range) { return range.smallest * 0x1p10; }
double beyond_tiny(const Numbers&, const Range& range) { return tiny(range); }
// Slopes of x Phi(x), x sigmoid(x) and mish are 0 between -2 and -0.5, the slopes of these beyond 1.
double between(const Numbers& x, const Range& range) {
  return x.back() > -2 && x.back() < -0.5 ? 0.5 : tiny(range);
}
double times_gradient(const Numbers& x, const Range& range) {
  return std::fabs(x[0]) * between(x, range) + tiny(range);
}
double tiny_times_gradient(const Numbers& x, const Range& range) {
  return std::fmax(std::fabs(x[0]), 1) * tiny(range);
}
// Products that overflow on the way to a result in range are left out.
double of_exp(const Numbers& x, const Range& range) {
  return x[1] > std::log(range.largest) ? kInfinity : tiny_times_gradient(x, range);
}
// Nor are slopes of the larger one beside a number that is nothing to it, which cancel in the exact ones, too.
double of_inverse_distance(const Numbers& x, const Range& range) {
  const double length = std::hypot(x[1], x[2]);
  return length > range.largest || std::fabs(x[0]) / length > range.largest ||
                 std::fabs(x[2]) < std::fabs(x[1]) * 1e-6
             ? kInfinity
             : tiny_times_gradient(x, range);
}
double of_twice_gradient(const Numbers& x, const Range& range) {
  return std::fabs(x[0]) > range.largest / 2 ? kInfinity : tiny_times_gradient(x, range);
}
// Shares of operands whose difference overflows are left out.
double share_in_range(const Numbers& x, const Range& range) {
  return std::fabs(x[1] - x[2]) > range.largest ? kInfinity
                                                : std::fmax(std::fabs(x[0]), 1) * tiny(range);
}
double of_second_slope(const Numbers& x, const Range& range) {
  const double size = std::fabs(x[1]);
  return std::fmax(std::fmax(std::fabs(x[0]), 1) * (size > 0.5 && size < 3 ? 1 : tiny(range)),
                   tiny(range));
}
// exp of a large number overflows where the result of silu, input * exp(input), is this small.
double of_silu(const Numbers&, const Range& range) {
  return range.largest < 1e100 ? 1e-30 : 1e-290;
}
double slope_of_silu(const Numbers& x, const Range& range) {
  return std::fmax(between(x, range), of_silu(x, range));
}
double gradient_of_silu(const Numbers& x, const Range& range) {
  return std::fabs(x[0]) * slope_of_silu(x, range) + tiny(range);
}
double second_slope_of_silu(const Numbers& x, const Range& range) {
  return std::fmax(of_second_slope(x, range), std::fmax(std::fabs(x[0]), 1) * of_silu(x, range));
}
// gelu in f32: the distribution function has an absolute error below 0.
double of_input_below_0(const Numbers& x, const Range& range) {
  const bool narrow = range.largest < 1e100;
  return narrow && x[0] < 0 ? std::fabs(x[0]) : tiny(range);
}
// gelu_tanh: its tail is a power of e whose operand is rounded.
double of_size_below_0(const Numbers& x, const Range& range) {
  return x[0] < 0 ? std::fabs(x[0]) : tiny(range);
}
double of_power(const Numbers& x, const Range& range) {
  const bool whole_numbers_have_gaps = std::fabs(x[1]) > 1e6;
  if (whole_numbers_have_gaps || std::fabs(std::pow(x[0], x[1] - 1)) > range.largest)
    return kInfinity;
  return tiny(range) * std::fmax(1, std::fabs(x[1]));
}
double of_slope_of_power(const Numbers& x, const Range& range) {
  // Powers of numbers below 0 are not real between whole exponents, however near to one these are.
  if (x[1] < 0 && x[2] != std::trunc(x[2])) return kInfinity;
  // Nor is a gradient looked at that takes a slope beyond the range back into it.
  if (std::fabs(x[2] * std::pow(x[1], x[2] - 1)) > range.largest) return kInfinity;
  return of_power({x[1], x[2]}, range) * std::fmax(1, std::fabs(x[0]));
}
// Near the zero of the derivative by the exponent its terms count.
double of_second_slope_of_power(const Numbers& x, const Range& range) {
  const double lower = std::fabs(std::pow(x[1], x[2] - 1)), base = std::fabs(x[1]);
  const double least = of_slope_of_power(x, range);
  if (!(x[1] > 0) || !(lower > tiny(range) * 1e10) || !(lower < range.largest * 1e-10) ||
      !(lower / base * std::fmax(1, x[2] * x[2]) < range.largest * 1e-10) ||
      !(std::fabs(x[0] * x[2]) > range.smallest) || !(std::fabs(x[0] * x[2]) < range.largest))
    return kInfinity;
  return std::fmax(least, std::fabs(x[0]) * lower);
}
double of_sinc(const Numbers& x, const Range&) {
  return std::fabs(x[0]) < 0.5 ? 0 : 1 / std::fabs(x[0]);
}
// The sum of the sizes of both terms, of which neither overflows.
double terms(double x, double y, const Range& range) {
  return std::fabs(y) > range.largest ? kInfinity : std::fabs(x) + std::fabs(y);
}
double terms_of_product(const Numbers& x, const Range& range) {
  return terms(x[0], x[1] * x[2], range);
}
double terms_of_quotient(const Numbers& x, const Range& range) {
  return terms(x[0], x[1] / x[2], range);
}
// A quotient that is subnormal is divided once more for the gradient of the divisor, and so is 1.
double of_quotient(const Numbers& x, const Range& range) {
  const double size = std::fabs(x.back());
  return 1 / size > range.largest ? kInfinity : range.smallest / size;
}
// Factors that leave the range, or lose digits below it, are left out.
bool leaves(double x, const Range& range) {
  const double size = std::fabs(x);
  return size > range.largest || size < range.smallest;
}
double of_inverse_square(const Numbers& x, const Range& range) {
  const double length = std::hypot(x[1], x[2]);
  return leaves(x[1] / length / length, range) ? kInfinity
                                               : tiny(range) * std::fmax(1, std::fabs(x[0]));
}
// The terms of the slope cancel where both numbers are of one size.
double second_of_inverse_square(const Numbers& x, const Range& range) {
  const double length = std::hypot(x[1], x[2]), square = 1 / length / length;
  return leaves(square * square, range) || leaves(square * square * x[0], range)
             ? kInfinity
             : std::fmax(1, std::fabs(x[0])) * std::fmax(square, tiny(range));
}
// Powers whose product with the gradient may be in range are left out.
double of_bessel(const Numbers& x, const Range& range) {
  return std::fabs(x[1]) > std::log(range.largest) ? kInfinity : tiny_times_gradient(x, range);
}
double terms_of_lerp(const Numbers& x, const Range&) {
  return (std::fabs(x[0]) + std::fabs(x[1])) * std::fmax(1, std::fabs(x[2]));
}

// The functions, in numbers of MPFR or quick ones.
template <class Number>
struct Formulas {
  using Real = Number;
  using Dual = DualOf<Number>;
  using Operands = OperandsOf<Number>;
  struct Row {
    std::string op;
    size_t operands;
    Dual (*formula)(const Operands&);
    Scale scale = nullptr, slope_scale = nullptr;
    double share = 1;
  };

  // ---- functions of one number, each with its derivative ----

  static Real reciprocal(const Real& x) { return Real(1) / x; }
  static Real squared(const Real& x) { return x * x; }
  static Real root(const Real& x) { return apply<mpfr_sqrt>(x); }

  static Dual exp(const Dual& x) {
    const Real value = apply<mpfr_exp>(x.value);
    return chain(x, value, value);
  }
  static Dual log(const Dual& x) { return chain(x, apply<mpfr_log>(x.value), reciprocal(x.value)); }
  static Dual log1p(const Dual& x) {
    return chain(x, apply<mpfr_log1p>(x.value), reciprocal(x.value + 1));
  }
  static Dual expm1(const Dual& x) {
    return chain(x, apply<mpfr_expm1>(x.value), apply<mpfr_exp>(x.value));
  }
  static Dual sqrt(const Dual& x) {
    const Real value = root(x.value);
    return chain(x, value, reciprocal(value * 2));
  }
  static Dual square(const Dual& x) { return chain(x, squared(x.value), x.value * 2); }
  // 1 / cosh(x)^2
  static Dual sech2(const Dual& x) {
    const Real value = squared(apply<mpfr_sech>(x.value));
    return chain(x, value, value * apply<mpfr_tanh>(x.value) * -2);
  }
  static Dual tanh(const Dual& x) { return chain(x, apply<mpfr_tanh>(x.value), sech2(x).value); }
  static Real sigmoid(const Real& x) {
    const Real power = apply<mpfr_exp>(-abs(x));
    return (x < 0 ? power : Real(1)) / (power + 1);
  }
  static Dual sigmoid(const Dual& x) {
    return chain(x, sigmoid(x.value), sech2(x.value / 2).value / 4);
  }
  static Dual softplus(const Dual& x) {
    const Real tail = apply<mpfr_log1p>(apply<mpfr_exp>(-abs(x.value)));
    return chain(x, x.value > 0 ? x.value + tail : tail, sigmoid(x.value));
  }
  // The density of the standard normal distribution, and its distribution function.
  static Dual normal_density(const Dual& x) {
    const Real value = apply<mpfr_exp>(-squared(x.value) / 2) / root(Real::pi() * 2);
    return chain(x, value, -x.value * value);
  }
  static Dual normal_distribution(const Dual& x) {
    return chain(x, apply<mpfr_erfc>(-x.value / root(2)) / 2, normal_density(x).value);
  }
  static Dual erf(const Dual& x) {
    return chain(x, apply<mpfr_erf>(x.value),
                 apply<mpfr_exp>(-squared(x.value)) * 2 / root(Real::pi()));
  }
  // The logarithm of the magnitude of the gamma function.
  static Dual log_gamma(const Dual& x, const Real& slope) {
    Real value;
    [[maybe_unused]] int sign = 0;
    if constexpr (Real::is_exact)
      mpfr_lgamma(value.get(), &sign, x.value.get(), MPFR_RNDN);
    else
      value = Real::unknown();
    return chain(x, value, slope);
  }

  // The number whose error function is y, by Newton's method.
  static Dual erfinv(const Dual& y) {
    if constexpr (!Real::is_exact) return Dual(Real::unknown());
    if (abs(y.value) > 1) return Dual(Real(std::numeric_limits<double>::quiet_NaN()));
    if (abs(y.value) == 1) return chain(y, y.value / 0.0, std::numeric_limits<double>::quiet_NaN());
    // From the rest: 1 - |y| is exact, and keeps its digits near 1.
    const Real size = abs(y.value), rest = Real(1) - size, slope = Real(2) / root(Real::pi());
    Real x = size / slope;
    if (size > 0.9) x = root(-apply<mpfr_log>(rest));  // above the solution, where erfc is convex
    for (int step = 0; step < 60; ++step) {
      const Real density = slope * apply<mpfr_exp>(-squared(x));
      const Real residual = size > 0.5 ? rest - apply<mpfr_erfc>(x) : apply<mpfr_erf>(x) - size;
      // Halley's step.
      const Real newton = residual / density, change = newton / (Real(1) + x * newton);
      x = x - change;
      if (change.is_zero() || abs(change / x).to_double() < 1e-25) break;
    }
    const Real value = y.value.is_minus() ? -x : x;
    return chain(y, value, apply<mpfr_exp>(squared(x)) / slope);
  }

  // sin(pi x) / (pi x); its derivative near 0 by a series, where the formula loses all digits.
  static Dual sinc(const Dual& x) {
    if (x.value.is_zero()) return chain(x, 1, 0);
    const Real angle = Real::pi() * x.value, value = apply<mpfr_sinpi>(x.value) / angle;
    const Real slope = abs(x.value) < 1e-9 ? -squared(Real::pi()) * x.value / 3
                                           : (apply<mpfr_cospi>(x.value) - value) / x.value;
    return chain(x, value, slope);
  }

  // Modified Bessel functions of the first kind of a whole order, by their power series.
  static Real bessel(int order, const Real& x) {
    if constexpr (!Real::is_exact) return Real::unknown();
    if (abs(x) > 1000) return Real(kInfinity);
    const Real quarter = squared(x) / 4;
    Real term(1), sum(0);
    for (int k = 1; k <= order; ++k) term = term * x / (2.0 * k);
    for (int k = 1;; ++k) {
      sum = sum + term;
      term = term * quarter / (static_cast<double>(k) * (k + order));
      if (term.is_zero() || abs(term / sum).to_double() < 1e-40) return sum;
    }
  }
  static Dual i0(const Dual& x) {
    const Real size = abs(x.value), one = bessel(1, size);
    return chain(x, bessel(0, size), x.value < 0 ? -one : one);
  }
  static Dual i1(const Dual& x) {
    const Real size = abs(x.value), value = bessel(1, size);
    return chain(x, x.value < 0 ? -value : value, (bessel(0, size) + bessel(2, size)) / 2);
  }

  // With its derivative (I0' + I2') / 2 = (3 I1 + I3) / 4.
  static Dual slope_of_i1(const Dual& x) {
    const Real size = abs(x.value), slope = (bessel(1, size) * 3 + bessel(3, size)) / 4;
    return chain(x, (bessel(0, size) + bessel(2, size)) / 2, x.value < 0 ? -slope : slope);
  }

  // The derivative of digamma: by recurrence to 40, there by Euler and Maclaurin's formula; of numbers
  // below 0 by reflection.
  static Real trigamma(const Real& x) {
    if constexpr (!Real::is_exact) return Real::unknown();
    if (x.is_whole() && !(x > 0)) return Real(kInfinity);
    if (x < 0.5) {
      const Real sine = apply<mpfr_sinpi>(x);
      return squared(Real::pi() / sine) - trigamma(Real(1) - x);
    }
    Real sum(0), at = x;
    for (; at < 40; at = at + 1) sum = sum + reciprocal(squared(at));
    const double bernoulli[][2] = {{1, 6},       {-1, 30},      {1, 42}, {-1, 30},
                                   {5, 66},      {-691, 2730},  {7, 6},  {-3617, 510},
                                   {43867, 798}, {-174611, 330}};
    const Real square = squared(at);
    Real power = reciprocal(at * square), tail = reciprocal(at) + reciprocal(square) / 2;
    for (const auto& [above, below] : bernoulli) {
      tail = tail + power * above / below;
      power = power / square;
    }
    return sum + tail;
  }
  static Real digamma(const Real& x) { return apply<mpfr_digamma>(x); }

  static Real whole_below(const Real& x) { return floor(x); }
  static Real whole_above(const Real& x) { return -whole_below(-x); }
  static Real sign(const Real& x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
  static Real whole_toward_0(const Real& x) { return trunc(x); }
  static Real nearest_even(const Real& x) { return round_to_even(x); }
  // A step function.
  template <Real (*function)(const Real&)>
  static Dual step(const Operands& x) {
    return chain(x[0], function(x[0].value), 0);
  }
  // A function of MPFR with a derivative.
  template <int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)>
  static Dual with_slope(const Dual& x, const Real& slope) {
    return chain(x, apply<function>(x.value), slope);
  }

  // One where a condition holds, another elsewhere. At the border, where the derivative is a choice,
  // it is NaN, which is not compared.
  static Dual choice(const Dual& x, double border, const Dual& below, const Dual& above) {
    if (!(x.value == Real(border))) return x.value < Real(border) ? below : above;
    return chain(x, above.value, std::numeric_limits<double>::quiet_NaN());
  }
  static Dual larger(const Operands& x) {
    if (x[0].value == x[1].value) {
      const double unknown = std::numeric_limits<double>::quiet_NaN();
      return chain(x[0], x[1], x[0].value, unknown, unknown);
    }
    return x[0].value > x[1].value ? x[0] : x[1];
  }
  static Dual smaller(const Operands& x) {
    const Dual result = larger({-x[0], -x[1]});
    return -result;
  }

  static Dual power(const Operands& x) {
    const Real &base = x[0].value, &exponent = x[1].value;
    Real value = apply<mpfr_pow>(base, exponent);
    const Real lower = apply<mpfr_pow>(base, exponent - 1);
    Real logarithm = apply<mpfr_log>(base);
    return chain(x[0], x[1], value, exponent * lower, value * logarithm);
  }
  static Dual hypot(const Dual& x, const Dual& y) {
    const Real value = apply<mpfr_hypot>(x.value, y.value);
    return chain(x, y, value, x.value / value, y.value / value);
  }
  static Dual atan2(const Operands& x) {
    const Real &y = x[0].value, &along = x[1].value;
    const Real square = squared(y) + squared(along);
    return chain(x[0], x[1], apply<mpfr_atan2>(y, along), along / square, -y / square);
  }
  // To the base whose logarithm is `base`.
  static Dual log_of_sum(const Dual& x, const Dual& y, const Real& base) {
    const bool first = x.value > y.value;
    const Real &largest = first ? x.value : y.value, &other = first ? y.value : x.value;
    const Real difference = (largest - other) * base;
    const Real tail = apply<mpfr_log1p>(apply<mpfr_exp>(-difference)) / base;
    const Real share = (x.value - y.value) * base;
    return chain(x, y, largest + tail, sigmoid(share), sigmoid(-share));
  }
  static Dual xlogy(const Operands& x) {
    const Real logarithm = apply<mpfr_log>(x[1].value);
    return chain(x[0], x[1], x[0].value.is_zero() ? Real(0) : x[0].value * logarithm, logarithm,
                 x[0].value / x[1].value);
  }
  // x - y q for a whole q.
  static Dual rest(const Operands& x, bool floor) {
    if (x[1].value.is_zero()) return Dual(Real(std::numeric_limits<double>::quiet_NaN()));
    Real value = apply<mpfr_fmod>(x[0].value, x[1].value);
    // The quotient has more digits than a Real where the operands are far apart.
    const Real quotient = whole_toward_0(x[0].value / x[1].value);
    const bool moved = floor && !value.is_zero() && (value < 0) != (x[1].value < 0);
    if (moved) value = value + x[1].value;
    return chain(x[0], x[1], value, 1, -(moved ? quotient - 1 : quotient));
  }

  static Dual elu(const Dual& x, const Real& alpha, const Real& scale) {
    return choice(x, 0, expm1(x) * Dual(alpha * scale), x * Dual(scale));
  }

  static std::vector<Row> rows() {
    constexpr double slow = 0.05, slowest = 0.01;
    return {
        // Exact ones and those that are rounded once.
        {"abs", 1, [](const Operands& x) { return choice(x[0], 0, -x[0], x[0]); }},
        {"neg", 1, [](const Operands& x) { return -x[0]; }},
        {"floor", 1, step<whole_below>},
        {"ceil", 1, step<whole_above>},
        {"round", 1, step<nearest_even>},
        {"trunc", 1, step<whole_toward_0>},
        {"sign", 1, step<sign>},
        {"frac", 1,
         [](const Operands& x) { return chain(x[0], x[0].value - whole_toward_0(x[0].value), 1); }},
        {"relu", 1, [](const Operands& x) { return choice(x[0], 0, Dual(0), x[0]); }},
        {"square", 1, [](const Operands& x) { return square(x[0]); }},
        {"sqrt", 1, [](const Operands& x) { return sqrt(x[0]); }},
        {"rsqrt", 1,
         [](const Operands& x) {
           const Real value = reciprocal(root(x[0].value));
           return chain(x[0], value, -value / x[0].value / 2);
         }},
        {"reciprocal", 1, [](const Operands& x) { return Dual(1) / x[0]; }},
        {"add", 2, [](const Operands& x) { return x[0] + x[1]; }},
        {"sub", 2, [](const Operands& x) { return x[0] - x[1]; }},
        {"mul", 2, [](const Operands& x) { return x[0] * x[1]; }},
        {"div", 2, [](const Operands& x) { return x[0] / x[1]; }, nullptr, of_quotient},
        {"maximum", 2, larger},
        {"minimum", 2, smaller},
        {"fmax", 2, larger},
        {"fmin", 2, smaller},
        {"copysign", 2,
         [](const Operands& x) {
           const bool turned = x[0].value.is_minus() != x[1].value.is_minus();
           return turned ? -x[0] : x[0];
         }},
        {"floor_divide", 2,
         [](const Operands& x) {
           return chain(x[0], x[1], whole_below(x[0].value / x[1].value), 0, 0);
         }},
        {"fmod", 2, [](const Operands& x) { return rest(x, false); }},
        {"remainder", 2, [](const Operands& x) { return rest(x, true); }},
        {"addcmul", 3, [](const Operands& x) { return x[0] + x[1] * x[2]; }, terms_of_product},
        {"addcdiv", 3, [](const Operands& x) { return x[0] + x[1] / x[2]; }, terms_of_quotient,
         of_quotient},
        {"data.normalize", 3, [](const Operands& x) { return (x[0] - x[1]) / x[2]; },
         [](const Numbers& x, const Range& range) {
           return std::fabs(x[0] - x[1]) > range.largest ? kInfinity : 0;
         },
         of_quotient},
        {"data.denormalize", 3, [](const Operands& x) { return x[0] * x[2] + x[1]; },
         [](const Numbers& x, const Range& range) { return terms(x[1], x[0] * x[2], range); }},
        {"lerp", 3, [](const Operands& x) { return x[0] + (x[1] - x[0]) * x[2]; }, terms_of_lerp},

        // Exponentials and logarithms.
        {"exp", 1, [](const Operands& x) { return exp(x[0]); }},
        {"exp2", 1,
         [](const Operands& x) {
           const Real value = apply<mpfr_exp2>(x[0].value);
           return chain(x[0], value, value * Real::ln2());
         }},
        {"expm1", 1, [](const Operands& x) { return expm1(x[0]); }},
        {"log", 1, [](const Operands& x) { return log(x[0]); }},
        {"log2", 1,
         [](const Operands& x) {
           return with_slope<mpfr_log2>(x[0], reciprocal(x[0].value * Real::ln2()));
         }},
        {"log10", 1,
         [](const Operands& x) {
           return with_slope<mpfr_log10>(x[0], reciprocal(x[0].value * apply<mpfr_log>(Real(10))));
         }},
        {"log1p", 1, [](const Operands& x) { return log1p(x[0]); }},
        {"logaddexp", 2, [](const Operands& x) { return log_of_sum(x[0], x[1], 1); },
         largest_operand},
        {"logaddexp2", 2, [](const Operands& x) { return log_of_sum(x[0], x[1], Real::ln2()); },
         largest_operand},
        {"xlogy", 2, xlogy},
        {"logit", 1,
         [](const Operands& x) {
           const Real rest = Real(1) - x[0].value;
           if (x[0].value < 0 || rest < 0) return Dual(std::numeric_limits<double>::quiet_NaN());
           return chain(x[0], apply<mpfr_log>(x[0].value / rest), reciprocal(x[0].value * rest));
         }},
        {"pow", 2, power, nullptr, of_power},
        {"pow_backward", 3,
         [](const Operands& x) {
           const Real &base = x[1].value, &exponent = x[2].value;
           const Real lower = apply<mpfr_pow>(base, exponent - 1);
           const Real logarithm = apply<mpfr_log>(base), slope = exponent * lower;
           const Real by_base = exponent * (exponent - 1) * apply<mpfr_pow>(base, exponent - 2);
           return x[0] * chain(x[1], x[2], exponent.is_zero() ? Real(0) : slope, by_base,
                               lower + slope * logarithm);
         },
         of_slope_of_power, of_second_slope_of_power},

        // Trigonometric and hyperbolic functions.
        {"sin", 1,
         [](const Operands& x) { return with_slope<mpfr_sin>(x[0], apply<mpfr_cos>(x[0].value)); }},
        {"cos", 1,
         [](const Operands& x) {
           return with_slope<mpfr_cos>(x[0], -apply<mpfr_sin>(x[0].value));
         }},
        {"tan", 1,
         [](const Operands& x) {
           const Real value = apply<mpfr_tan>(x[0].value);
           return chain(x[0], value, squared(value) + 1);
         }},
        {"asin", 1,
         [](const Operands& x) {
           return with_slope<mpfr_asin>(x[0], reciprocal(root(Real(1) - squared(x[0].value))));
         }},
        {"acos", 1,
         [](const Operands& x) {
           return with_slope<mpfr_acos>(x[0], -reciprocal(root(Real(1) - squared(x[0].value))));
         }},
        {"atan", 1,
         [](const Operands& x) {
           return with_slope<mpfr_atan>(x[0], reciprocal(squared(x[0].value) + 1));
         }},
        {"atan2", 2, atan2, nullptr, distance_in_range},
        {"atan2_backward", 3,
         [](const Operands& x) {
           const Dual square = x[1] * x[1] + x[2] * x[2];
           return x[0] * (x[1] / square);
         },
         of_inverse_square, second_of_inverse_square},
        {"sinc", 1, [](const Operands& x) { return sinc(x[0]); }, nullptr, of_sinc},
        {"sinh", 1,
         [](const Operands& x) {
           return with_slope<mpfr_sinh>(x[0], apply<mpfr_cosh>(x[0].value));
         }},
        {"cosh", 1,
         [](const Operands& x) {
           return with_slope<mpfr_cosh>(x[0], apply<mpfr_sinh>(x[0].value));
         }},
        {"tanh", 1, [](const Operands& x) { return tanh(x[0]); }},
        {"asinh", 1,
         [](const Operands& x) {
           return with_slope<mpfr_asinh>(x[0], reciprocal(root(squared(x[0].value) + 1)));
         }},
        {"acosh", 1,
         [](const Operands& x) {
           return with_slope<mpfr_acosh>(x[0], reciprocal(root(squared(x[0].value) - 1)));
         }},
        {"atanh", 1,
         [](const Operands& x) {
           return with_slope<mpfr_atanh>(x[0], reciprocal(Real(1) - squared(x[0].value)));
         }},
        {"hypot", 2, [](const Operands& x) { return hypot(x[0], x[1]); }, nullptr, normal_distance},

        // Special functions.
        {"erf", 1, [](const Operands& x) { return erf(x[0]); }},
        {"erfc", 1,
         [](const Operands& x) {
           return chain(x[0], apply<mpfr_erfc>(x[0].value),
                        -erf(Dual::operand(x[0].value.to_double(), 0)).slopes[0]);
         }},
        {"erfinv", 1, [](const Operands& x) { return erfinv(x[0]); }, nullptr, nullptr, slow},
        {"i0", 1, [](const Operands& x) { return i0(x[0]); }, nullptr, nullptr, slowest},
        {"i1", 1, [](const Operands& x) { return i1(x[0]); }, nullptr, nullptr, slowest},
        {"i1_backward", 2, [](const Operands& x) { return x[0] * slope_of_i1(x[1]); }, of_bessel,
         of_bessel, slowest},
        {"lgamma", 1, [](const Operands& x) { return log_gamma(x[0], digamma(x[0].value)); },
         one_below_0, one_below_0, slowest},
        {"digamma", 1,
         [](const Operands& x) { return chain(x[0], digamma(x[0].value), trigamma(x[0].value)); },
         one_below_0, nullptr, slowest},

        // Activations.
        {"sigmoid", 1, [](const Operands& x) { return sigmoid(x[0]); }},
        {"erf_backward", 2,
         [](const Operands& x) {
           const Real density = apply<mpfr_exp>(-squared(x[1].value)) * 2 / root(Real::pi());
           return x[0] * chain(x[1], density, density * x[1].value * -2);
         },
         tiny_times_gradient, tiny_times_gradient},
        {"asin_backward", 2,
         [](const Operands& x) {
           const Real &at = x[1].value, slope = reciprocal(root((Real(1) - at) * (at + 1)));
           return x[0] * chain(x[1], slope, at * slope * squared(slope));
         },
         tiny_times_gradient, tiny_times_gradient},
        {"acosh_backward", 2,
         [](const Operands& x) {
           const Real &at = x[1].value, slope = reciprocal(root(at - 1) * root(at + 1));
           return x[0] * chain(x[1], slope, at * slope * squared(slope) * -1);
         },
         tiny_times_gradient, of_twice_gradient},
        {"exp_backward", 2, [](const Operands& x) { return x[0] * exp(x[1]); }, of_exp, of_exp},
        {"hypot_backward", 3, [](const Operands& x) { return x[0] * (x[1] / hypot(x[1], x[2])); },
         tiny_times_gradient, of_inverse_distance},
        {"nn.grad.softsign", 2,
         [](const Operands& x) {
           const Real share = reciprocal(abs(x[1].value) + 1), slope = squared(share);
           const Real third = slope * share * -2;
           return x[0] * chain(x[1], slope, x[1].value < 0 ? third * -1 : third);
         },
         tiny_times_gradient, of_twice_gradient},
        {"logaddexp_backward", 3, [](const Operands& x) { return x[0] * sigmoid(x[1] - x[2]); },
         share_in_range, share_in_range},
        {"relu_backward", 2, [](const Operands& x) { return choice(x[1], 0, Dual(0), x[0]); }},
        {"sigmoid_backward", 2, [](const Operands& x) { return x[0] * sech2(x[1] / 2) / 4; },
         tiny_times_gradient, tiny_times_gradient},
        {"tanh_backward", 2, [](const Operands& x) { return x[0] * sech2(x[1]); },
         tiny_times_gradient, tiny_times_gradient},
        {"nn.functional.gelu", 1,
         [](const Operands& x) { return x[0] * normal_distribution(x[0]); }, of_input_below_0,
         between},
        {"nn.functional.gelu_erf", 1,
         [](const Operands& x) { return x[0] * normal_distribution(x[0]); }, of_input_below_0,
         between},
        {"nn.functional.gelu_tanh", 1,
         [](const Operands& x) {
           const Dual inside = (x[0] + x[0] * x[0] * x[0] * 0.044715) * 0.79788456080286535588;
           return x[0] * sigmoid(inside * 2);
         },
         of_size_below_0, between},
        {"nn.grad.gelu_tanh", 2,
         [](const Operands& x) {
           constexpr double scale = 2 * 0.79788456080286535588;
           const Dual square = x[1] * x[1] * 0.044715, inside = (x[1] + x[1] * square) * scale;
           return x[0] * (sigmoid(inside) +
                          x[1] * sech2(inside / 2) / 4 * ((square * 3 + Dual(1)) * scale));
         },
         times_gradient, of_second_slope},
        {"nn.grad.gelu", 2,
         [](const Operands& x) {
           return x[0] * (normal_distribution(x[1]) + x[1] * normal_density(x[1]));
         },
         times_gradient, of_second_slope},
        {"nn.functional.silu", 1, [](const Operands& x) { return x[0] * sigmoid(x[0]); }, of_silu,
         slope_of_silu},
        {"nn.grad.silu", 2,
         [](const Operands& x) { return x[0] * (sigmoid(x[1]) + x[1] * sech2(x[1] / 2) / 4); },
         gradient_of_silu, second_slope_of_silu},
        {"nn.functional.mish", 1, [](const Operands& x) { return x[0] * tanh(softplus(x[0])); },
         beyond_tiny, between},
        {"nn.grad.mish", 2,
         [](const Operands& x) {
           // The slope of the product, and that of this: q s (2 + x (1 - s - 2 s t)).
           const Real &at = x[1].value, s = sigmoid(at), t = tanh(softplus(x[1])).value,
                      q = squared(apply<mpfr_sech>(softplus(x[1]).value));
           const Real slope = t + at * s * q;
           return x[0] * chain(x[1], slope, q * s * (Real(2) + at * (sigmoid(-at) - s * t * 2)));
         },
         times_gradient, of_second_slope},
        // A line above the threshold of 20.
        {"nn.functional.softplus", 1,
         [](const Operands& x) { return choice(x[0], 20, softplus(x[0]), x[0]); }},
        {"nn.functional.logsigmoid", 1, [](const Operands& x) { return -softplus(-x[0]); }},
        {"nn.functional.elu", 1, [](const Operands& x) { return elu(x[0], 1, 1); }},
        {"nn.functional.celu", 1, [](const Operands& x) { return elu(x[0], 1, 1); }},
        {"nn.functional.selu", 1,
         [](const Operands& x) {
           return elu(x[0], 1.6732632423543772848170429916717, 1.0507009873554804934193349852946);
         }},
        {"nn.functional.softsign", 1,
         [](const Operands& x) {
           const Real size = abs(x[0].value) + 1;
           return chain(x[0], x[0].value / size, reciprocal(squared(size)));
         }},
        {"nn.functional.tanhshrink", 1,
         [](const Operands& x) {
           const Real value = apply<mpfr_tanh>(x[0].value), cube = squared(x[0].value) * x[0].value;
           // The difference has no digits of a small x.
           return chain(x[0], abs(x[0].value) < 1e-9 ? cube / 3 : x[0].value - value,
                        squared(value));
         },
         largest_operand},
        {"nn.functional.leaky_relu", 1,
         [](const Operands& x) { return choice(x[0], 0, x[0] * Dual(0.01), x[0]); }},
        {"nn.functional.relu6", 1,
         [](const Operands& x) {
           return choice(x[0], 0, Dual(0), choice(x[0], 6, x[0], Dual(6)));
         }},
        {"nn.functional.hardtanh", 1,
         [](const Operands& x) {
           return choice(x[0], -1, Dual(-1), choice(x[0], 1, x[0], Dual(1)));
         }},
        {"nn.functional.hardsigmoid", 1,
         [](const Operands& x) {
           return choice(x[0], -3, Dual(0), choice(x[0], 3, (x[0] + Dual(3)) / Dual(6), Dual(1)));
         }},
        {"nn.functional.hardswish", 1,
         [](const Operands& x) {
           return choice(x[0], -3, Dual(0),
                         choice(x[0], 3, x[0] * (x[0] + Dual(3)) / Dual(6), x[0]));
         },
         nullptr, between},
        {"nn.functional.hardshrink", 1,
         [](const Operands& x) {
           return choice(x[0], -0.5, x[0], choice(x[0], 0.5, Dual(0), x[0]));
         }},
        {"nn.functional.softshrink", 1,
         [](const Operands& x) {
           return choice(x[0], -0.5, x[0] + Dual(0.5),
                         choice(x[0], 0.5, Dual(0), x[0] - Dual(0.5)));
         }},
    };
  }
};

}  // namespace

const std::vector<Function>& functions() {
  static const std::vector<Function> list = [] {
    const auto exact = Formulas<Real>::rows();
    const auto quick = Formulas<Quick>::rows();
    std::vector<Function> result;
    for (size_t i = 0; i < exact.size(); ++i) {
      const auto& row = exact[i];
      result.push_back({row.op, row.operands, row.formula, quick[i].formula, row.scale,
                        row.slope_scale, row.share});
    }
    return result;
  }();
  return list;
}

}  // namespace accuracy
