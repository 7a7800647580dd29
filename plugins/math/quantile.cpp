// quantile.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

enum class Between { linear, lower, higher, nearest, midpoint };
Between interpolation_of(std::string_view name) {
  constexpr std::pair<const char*, Between> names[] = {{"linear", Between::linear},
                                                       {"lower", Between::lower},
                                                       {"higher", Between::higher},
                                                       {"nearest", Between::nearest},
                                                       {"midpoint", Between::midpoint}};
  for (const auto& [known, value] : names) {
    if (name == known) return value;
  }
  throw ValueError("quantile(): interpolation is '" + std::string(name) +
                   "'; choose linear, lower, higher, nearest or midpoint");
}

// The fractions as f64, each in [0, 1].
Tensor checked_fractions(const Argument& q) {
  const tenon_value& value = q.value();
  const Tensor fractions = value.tag == TENON_VALUE_TENSOR ? Tensor::borrow(value.as.tensor).to(f64)
                                                           : full({}, Scalar(value), f64);
  if (fractions.dim() > 1) {
    throw ValueError("quantile(): q must be a number or a vector, but its shape is " +
                     shape_text(fractions.shape()));
  }
  for (const double fraction : fractions.to_vector<double>()) {
    if (fraction >= 0 && fraction <= 1) continue;
    throw ValueError("quantile(): q must be from 0 to 1, but it has " + Scalar(fraction).text());
  }
  return fractions;
}

// The elements at fractional ranks of each sorted line, which is the last dimension.
Tensor at_ranks(const Tensor& sorted, const Tensor& ranks, Between between) {
  const int64_t last = sorted.dim() - 1;
  const Tensor below = floor(ranks), above = ceil(ranks);
  const auto at = [&](const Tensor& rank) { return sorted.index_select(last, rank.to(i64)); };
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
  return where(exact, low, lerp(masked(low), masked(high), weight.to(sorted.dtype())));
}

struct Quantile {
  static constexpr auto schema =
      "quantile(Tensor input, Tensor|Scalar q, int? dim=None, bool keepdim=False, *, str "
      "interpolation=\"linear\", Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [5]}, "q": 0.3}, {"input": {"shape": [3, 4]}, "q": {"values": [0.1,
          0.5, 0.9], "requires_grad": false}, "dim": 0, "keepdim": true}])";
  static constexpr auto doc =
      "The values below which a fraction q of the elements along a dimension, or of all, is; "
      "between two elements as `interpolation` says (linear, lower, higher, nearest, midpoint). A "
      "vector q adds a dimension in front. NaN where there is one. The dtype must be floating.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Argument& q, std::optional<int64_t> dim,
                        bool keepdim, std::string_view interpolation) {
    kernel::check_floating("quantile", "input", input);
    const Between between = interpolation_of(interpolation);
    const Tensor fractions = checked_fractions(q);
    const int64_t along = wrap_dimension("quantile", dim.value_or(0), input.dim());
    const Tensor flat = dim && input.dim() != 0 ? movedim(input, along, -1) : reshape(input, {-1});
    const int64_t size = flat.shape()[flat.dim() - 1];
    if (size == 0) {
      throw ValueError("quantile(): shape " + shape_text(input.shape()) +
                       " has no elements to choose from: reduce dimensions with elements");
    }
    static const Op sort("sort");
    const Tensor sorted =
        std::get<0>(sort.call<std::tuple<Tensor, Tensor>>(flat, int64_t{-1}, false));
    const Tensor ranks = reshape(fractions, {-1}) * (size - 1);
    Tensor result = at_ranks(sorted, ranks, between);
    const Tensor largest = sorted.narrow(-1, size - 1, 1);  // NaN, where there is one
    result = where(isnan(largest), largest, result);
    // [..., q] becomes [q, ...], with size 1 in place of what is reduced.
    result = movedim(result, -1, 0);
    if (keepdim && dim && input.dim() != 0) result = result.unsqueeze(along + 1);
    if (keepdim && !dim) {
      Shape shape;
      shape.push(fractions.numel());
      for (int64_t i = 0; i < input.dim(); ++i) shape.push(1);
      result = result.reshape(IntList(shape));
    }
    return fractions.dim() == 0 ? result.select(0, 0) : result;
  }
};

}  // namespace

TENON_OP(Quantile)
