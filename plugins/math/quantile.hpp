// Shared code of quantile and nanquantile.
#pragma once

#include <string>

#include "dimensions.hpp"

namespace math {

enum class Between { linear, lower, higher, nearest, midpoint };
inline Between interpolation_of(const char* op, std::string_view name) {
  constexpr std::pair<const char*, Between> names[] = {{"linear", Between::linear},
                                                       {"lower", Between::lower},
                                                       {"higher", Between::higher},
                                                       {"nearest", Between::nearest},
                                                       {"midpoint", Between::midpoint}};
  for (const auto& [known, value] : names) {
    if (name == known) return value;
  }
  throw ValueError(std::string(op) + "(): interpolation is '" + std::string(name) +
                   "'; choose linear, lower, higher, nearest or midpoint");
}

// The fractions as f64, each in [0, 1].
inline Tensor checked_fractions(const char* op, const Argument& q) {
  const tenon_value& value = q.value();
  const Tensor fractions = value.tag == TENON_VALUE_TENSOR ? Tensor::borrow(value.as.tensor).to(f64)
                                                           : full({}, Scalar(value), f64);
  if (fractions.dim() > 1) {
    throw ValueError(std::string(op) + "(): q must be a number or a vector, but its shape is " +
                     shape_text(fractions.shape()));
  }
  for (const double fraction : fractions.to_vector<double>()) {
    if (fraction >= 0 && fraction <= 1) continue;
    throw ValueError(std::string(op) + "(): q must be from 0 to 1, but it has " +
                     Scalar(fraction).text());
  }
  return fractions;
}

// The elements at fractional ranks of sorted lines: `at` gives those at whole ranks.
template <class At>
Tensor at_ranks(const At& at, const Tensor& ranks, Between between) {
  const Tensor below = floor(ranks), above = ceil(ranks);
  switch (between) {
    case Between::lower:
      return at(below);
    case Between::higher:
      return at(above);
    case Between::nearest:
      return at(round(ranks));
    default:
      break;
  }
  const Tensor low = at(below), high = at(above);
  const Tensor weight = between == Between::midpoint ? (above - below) * 0.5 : ranks - below;
  // Equal infinities have no difference, and one that has no weight counts for nothing.
  const Tensor exact = logical_or(eq(low, high), eq(weight, 0));
  const auto masked = [&](const Tensor& x) { return where(exact, 0, x); };
  return where(exact, low, lerp(masked(low), masked(high), weight.to(low.dtype())));
}

// Lines to choose from, the last dimension, in ascending order, and how results become those of the
// op: [..., q] becomes [q, ...], with size 1 in place of what is reduced.
struct QuantileLines {
  Tensor fractions, sorted;
  int64_t rank, along, size;
  bool reduces_all;

  QuantileLines(const char* op, const Tensor& input, const Argument& q, std::optional<int64_t> dim)
      : fractions(checked_fractions(op, q)),
        rank(input.dim()),
        along(wrap_dimension(op, dim.value_or(0), rank)),
        reduces_all(!dim || rank == 0) {
    const Tensor flat = reduces_all ? reshape(input, {-1}) : movedim(input, along, -1);
    size = flat.shape()[flat.dim() - 1];
    if (size == 0) {
      throw ValueError(std::string(op) + "(): shape " + shape_text(input.shape()) +
                       " has no elements to choose from: reduce dimensions with elements");
    }
    static const Op sort("sort");
    sorted = std::get<0>(sort.call<std::tuple<Tensor, Tensor>>(flat, int64_t{-1}, false));
  }
  Tensor laid_out(Tensor result, bool keepdim) const {
    result = movedim(result, -1, 0);
    if (keepdim && !reduces_all) result = result.unsqueeze(along + 1);
    if (keepdim && reduces_all) {
      Shape shape;
      shape.push(fractions.numel());
      for (int64_t i = 0; i < rank; ++i) shape.push(1);
      result = result.reshape(IntList(shape));
    }
    return fractions.dim() == 0 ? result.select(0, 0) : result;
  }
};

}  // namespace math
