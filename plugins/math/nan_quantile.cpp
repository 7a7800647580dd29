// nanquantile.
#include "quantile.hpp"

using namespace tenon;
using namespace math;

namespace {

struct Nanquantile {
  static constexpr auto schema =
      "nanquantile(Tensor input, Tensor|Scalar q, int? dim=None, bool keepdim=False, *, str "
      "interpolation=\"linear\", Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [5]}, "q": 0.3}, {"input": {"shape": [3, 4]}, "q": {"values": [0.1,
          0.5, 0.9], "requires_grad": false}, "dim": 0, "keepdim": true}])";
  static constexpr auto doc = "quantile() of the elements that are not NaN; NaN where all are.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Argument& q, std::optional<int64_t> dim,
                        bool keepdim, std::string_view interpolation) {
    kernel::check_floating("nanquantile", "input", input);
    const Between between = interpolation_of("nanquantile", interpolation);
    const QuantileLines lines("nanquantile", input, q, dim);
    const Tensor& sorted = lines.sorted;
    const Tensor last = isnan(sorted).logical_not().sum(-1, true) - 1;
    const Tensor ranks = reshape(lines.fractions, {-1}) * last.clamp(0);
    const auto at = [&](const Tensor& rank) { return sorted.gather(-1, rank.to(i64)); };
    return lines.laid_out(at_ranks(at, ranks, between), keepdim);
  }
};

}  // namespace

TENON_OP(Nanquantile)
