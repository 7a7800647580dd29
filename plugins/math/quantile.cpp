// quantile.
#include "quantile.hpp"

using namespace tenon;
using namespace math;

namespace {

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
    const Between between = interpolation_of("quantile", interpolation);
    const QuantileLines lines("quantile", input, q, dim);
    const Tensor& sorted = lines.sorted;
    const auto at = [&](const Tensor& rank) { return sorted.index_select(-1, rank.to(i64)); };
    const Tensor ranks = reshape(lines.fractions, {-1}) * (lines.size - 1);
    const Tensor result = at_ranks(at, ranks, between);
    const Tensor largest = sorted.narrow(-1, lines.size - 1, 1);  // NaN, where there is one
    return lines.laid_out(where(isnan(largest), largest, result), keepdim);
  }
};

}  // namespace

TENON_OP(Quantile)
