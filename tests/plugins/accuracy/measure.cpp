#include "measure.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

namespace accuracy {

namespace {

// Independent bits for every number (splitmix64).
uint64_t bits_of(uint64_t number) {
  number = (number + 1) * 0x9e3779b97f4a7c15u;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
}

template <class T>
T draw(uint64_t number, uint64_t kind) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int digits = std::numeric_limits<T>::digits - 1;
  const uint64_t bits = bits_of(number), more = bits_of(number ^ 0x5555555555555555u);
  const T any = std::bit_cast<T>(static_cast<Bits>(bits >> (64 - 8 * sizeof(T))));
  const T sign = any < 0 ? T{-1} : T{1};
  const T fraction = static_cast<T>(bits >> 11) * static_cast<T>(0x1p-53);
  switch (kind % 4) {
    case 0:
      return sign * std::ldexp(1 + fraction, static_cast<int>(more % 20) - 12);
    case 1:
      return sign * (1 + (more % 2 == 0 ? fraction : -fraction) *
                             std::ldexp(T{1}, -static_cast<int>(more / 2 % digits)));
    default:
      // NaN and infinities are drawn again.
      return std::isfinite(any) ? any : draw<T>(bits, kind);
  }
}

// The error of `found`, where an infinity counts as the first power of two beyond the range.
template <class T>
double units_between(T found, const Real& exact, double scale) {
  using Limits = std::numeric_limits<T>;
  if (exact.is_nan() || std::isnan(found))
    return exact.is_nan() && std::isnan(found) ? 0 : HUGE_VAL;
  Real beyond(1), size = abs(exact);
  mpfr_mul_2si(beyond.get(), beyond.get(), Limits::max_exponent, MPFR_RNDN);
  Real value(std::isinf(found) ? 0.0 : static_cast<double>(found)), expected = exact;
  if (std::isinf(found)) value = found < 0 ? -beyond : beyond;
  if (size > beyond) expected = exact < 0 ? -beyond : beyond;
  if (size < Real(scale)) size = Real(scale);
  const Real distance = abs(value - expected);
  if (distance.is_zero()) return 0;
  mpfr_exp_t exponent = size.is_zero() ? Limits::min_exponent : mpfr_get_exp(size.get());
  if (size > beyond || size == beyond) exponent = Limits::max_exponent;
  exponent = std::max<mpfr_exp_t>(exponent, Limits::min_exponent) - Limits::digits;
  Real units;
  mpfr_mul_2si(units.get(), distance.get(), -exponent, MPFR_RNDN);
  return units.to_double();
}

template <class T>
void add(Error& error, T found, const Real& exact, const Numbers& operands, Scale scale) {
  using Limits = std::numeric_limits<T>;
  const double least = scale == nullptr ? 0 : scale(operands, {Limits::max(), Limits::min()});
  if (std::isinf(least)) return;
  const double units = units_between(found, exact, least);
  if (units > error.units) error = {units, operands, static_cast<double>(found), exact.to_double()};
}

// A bound of the error by a quick number: whether it is at most the largest that is known.
template <class T>
bool is_smaller(const Error& error, T found, const Quick& exact, const Numbers& operands,
                Scale scale) {
  using Limits = std::numeric_limits<T>;
  using Number = Quick::Number;
  const double least = scale == nullptr ? 0 : scale(operands, {Limits::max(), Limits::min()});
  if (std::isinf(least)) return true;
  if (!exact.is_known()) return false;
  if (std::isnan(exact.value()) || std::isnan(found))
    return std::isnan(exact.value()) && std::isnan(found);
  const Number beyond = std::ldexp(Number{1}, Limits::max_exponent);
  const Number value =
      std::isinf(found) ? std::copysign(beyond, static_cast<Number>(found)) : found;
  // The exact number is in [size - bound, size + bound] and its sign is known, or both are counted.
  Number expected = exact.value(), bound = exact.error();
  const Number size = std::fabs(expected);
  if (size - bound > beyond) {
    expected = std::copysign(beyond, expected);
    bound = 0;
  }
  const Number smallest = std::fmax(std::fmin(size - bound, beyond), static_cast<Number>(least));
  int exponent = Limits::min_exponent;
  if (smallest > 0) std::frexp(smallest, &exponent);
  if (smallest >= beyond) exponent = Limits::max_exponent;
  exponent = std::max(exponent, Limits::min_exponent) - Limits::digits;
  const Number distance = std::fabs(value - expected);
  // The difference is exact, or rounded by less than the bound of an exact number's next digit.
  const Number most = (distance + bound) * (1 + Quick::kFunction);
  return std::ldexp(most, -exponent) <= error.units;
}
// Whether the quick function shows that no error of these operands is larger than those that are known.
template <class T>
bool is_decided(const Function& function, const Numbers& numbers, T found,
                const std::vector<std::vector<T>>& slopes, size_t place, const Errors& errors) {
  OperandsOf<Quick> operands;
  for (size_t k = 0; k < numbers.size(); ++k)
    operands.push_back(DualOf<Quick>::operand(numbers[k], k));
  quick_doubt = false;
  const DualOf<Quick> exact = function.quick(operands);
  if (quick_doubt || !is_smaller(errors.result, found, exact.value, numbers, function.scale))
    return false;
  if (std::isinf(found) || (exact.value.is_known() && std::isnan(exact.value.value()))) return true;
  for (size_t k = 0; k < slopes.size(); ++k) {
    const Quick& slope = exact.slopes[k];
    if (slope.is_known() && std::isnan(slope.value())) continue;
    if (!is_smaller(errors.gradient, slopes[k][place], slope, numbers, function.slope_scale))
      return false;
  }
  return true;
}

template <class T>
void measure_block(const Function& function, int64_t start, int64_t count, bool quick,
                   Errors& errors) {
  std::vector<std::vector<T>> columns(function.operands);
  std::vector<tenon::Tensor> leaves;
  leaves.reserve(function.operands);
  for (size_t k = 0; k < function.operands; ++k) {
    columns[k].reserve(static_cast<size_t>(count));
    for (int64_t i = start; i < start + count; ++i) {
      const auto number = static_cast<uint64_t>(i);
      columns[k].push_back(draw<T>(number * 3 + k, number >> (2 * k)));
    }
    leaves.push_back(tenon::from_range(columns[k].begin(), columns[k].end()).requires_grad_());
  }
  const tenon::Op op(function.op);
  const tenon::Tensor result = (leaves.size() == 1   ? op(leaves[0])
                                : leaves.size() == 2 ? op(leaves[0], leaves[1])
                                                     : op(leaves[0], leaves[1], leaves[2]))
                                   .tensor();
  tenon::GradientOptions options;
  options.allow_unused = true;
  std::vector<tenon::Tensor> gradients(leaves.size());
  if (result.requires_grad()) gradients = tenon::gradients({result.sum()}, leaves, options);

  const std::vector<T> found = result.to_vector<T>();
  std::vector<std::vector<T>> slopes;
  slopes.reserve(gradients.size());
  for (const tenon::Tensor& gradient : gradients) {
    slopes.push_back(gradient.defined() ? gradient.to_vector<T>()
                                        : std::vector<T>(found.size(), T{0}));
  }
  Numbers numbers(function.operands);
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<double>(columns[k][i]);
    if (quick && is_decided(function, numbers, found[i], slopes, i, errors)) continue;
    ++errors.by_mpfr;
    OperandsOf<Real> operands;
    for (size_t k = 0; k < numbers.size(); ++k)
      operands.push_back(DualOf<Real>::operand(numbers[k], k));
    const DualOf<Real> exact = function.exact(operands);
    add(errors.result, found[i], exact.value, numbers, function.scale);
    for (size_t k = 0; k < slopes.size(); ++k) {
      // A gradient is a choice where a function has no derivative, and of no use where the result
      // has left the range.
      if (exact.value.is_nan() || exact.slopes[k].is_nan() || std::isinf(found[i])) continue;
      add(errors.gradient, slopes[k][i], exact.slopes[k], numbers, function.slope_scale);
    }
  }
}

}  // namespace

Errors measure(const Function& function, tenon::DType dtype, int64_t count, bool quick) {
  constexpr int64_t block = 1 << 14;
  const bool narrow = dtype == tenon::f32;
  mpfr_set_default_prec(narrow ? 120 : 180);
  const auto share = static_cast<int64_t>(static_cast<double>(count) * function.share);
  Errors errors;
  errors.count = share;
  for (int64_t start = 0; start < share; start += block) {
    const int64_t size = std::min(block, share - start);
    if (narrow)
      measure_block<float>(function, start, size, quick, errors);
    else
      measure_block<double>(function, start, size, quick, errors);
  }
  return errors;
}

Bounds parse_bounds(const std::string& accuracy) {
  Bounds bounds;
  if (accuracy.rfind("exact", 0) == 0) return bounds;
  if (std::sscanf(accuracy.c_str(), "f32 %lf, f64 %lf; gradient f32 %lf, f64 %lf", &bounds.f32,
                  &bounds.f64, &bounds.gradient_f32, &bounds.gradient_f64) != 4)
    throw std::invalid_argument("accuracy '" + accuracy +
                                "' is not of the form 'f32 A, f64 B; "
                                "gradient f32 C, f64 D' or 'exact'");
  return bounds;
}

}  // namespace accuracy
