// Results of both sides of a rewrite, compared.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "format.hpp"
#include "rewrite_run.hpp"
#include "tensors.hpp"
#include "text.hpp"

namespace cli {

using tenon::Tensor;

namespace {

// Some units in the last place of dtypes whose own rounding is coarser than the bound.
double bound_in(const Tensor& tensor, double bound) {
  constexpr double units = 4;
  if (tensor.dtype() == tenon::bf16) return std::max(bound, units * 0x1p-8);
  if (tensor.dtype() == tenon::f16) return std::max(bound, units * 0x1p-11);
  return bound;
}

std::string number_text(double number) {
  return number == 0 && std::signbit(number) ? "-0" : short_number(number);
}

struct Worst {
  size_t element = 0;
  double size = -1;  // infinite: one is not a number, or of another sign of zero
  void note(size_t at, double difference) {
    if (difference > size) {
      size = difference;
      element = at;
    }
  }
};

}  // namespace

std::string rewrite_difference(const Tensor& pattern, const Tensor& replacement, double bound,
                               bool infinite) {
  if (!pattern.defined() || !replacement.defined())
    return pattern.defined() == replacement.defined() ? "" : "a result is missing in one of them";
  if (pattern.dtype() != replacement.dtype() || pattern.sizes() != replacement.sizes())
    return format_text("the pattern gives {}, the replacement {}", shape_dtype_text(pattern),
                       shape_dtype_text(replacement));
  const bool whole = !tenon::is_floating(tenon::real_dtype(pattern.dtype()));
  if (whole && bytes_of(pattern) == bytes_of(replacement)) return "";
  const std::vector<double> a = numbers_of(pattern), b = numbers_of(replacement);
  double largest = 0;
  for (const double number : a) {
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  }
  const double room = bound > 0 ? bound_in(pattern, bound) * largest : 0;
  Worst worst;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && (std::isnan(b[i]) || (bound > 0 && infinite))) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      if (a[i] != b[i]) worst.note(i, INFINITY);
    } else if (bound == 0 && a[i] == b[i]) {
      if (std::signbit(a[i]) != std::signbit(b[i])) worst.note(i, INFINITY);
    } else if (const double found = std::abs(a[i] - b[i]);
               found > room || (bound == 0 && found > 0)) {
      worst.note(i, found);
    }
  }
  if (worst.size < 0) return whole ? "whole numbers differ that no double holds" : "";
  const std::string text = format_text(
      "element {} of {} is {} by the pattern and {} by the replacement", worst.element,
      shape_dtype_text(pattern), number_text(a[worst.element]), number_text(b[worst.element]));
  if (bound == 0) return format_text("{}; the rule has no bound, so both are equal by bits", text);
  return format_text("{}: a difference of {} of the largest element, {}, above the bound of {}",
                     text, short_number(worst.size / (largest == 0 ? 1 : largest)),
                     short_number(largest), short_number(bound_in(pattern, bound)));
}

}  // namespace cli
