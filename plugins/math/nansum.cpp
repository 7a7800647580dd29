// nansum and nanmean: reductions that pass over NaN.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

Tensor numbers_of(const Tensor& input) {
  return is_differentiable(input.dtype()) ? where(isnan(input), 0, input) : input;
}

struct Nansum {
  static constexpr auto schema =
      "nansum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc =
      "The sum over the given dimensions, or over all, with NaN counted as 0. Integers and bools "
      "give i64.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, std::optional<IntList> dim, bool keepdim,
                        DType dtype) {
    return sum(numbers_of(input), dim, keepdim, dtype);
  }
};

struct Nanmean {
  static constexpr auto schema =
      "nanmean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None, "
      "Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The mean over the given dimensions, or over all, of the elements that are not NaN; NaN "
      "where all are. "
      "Integers and bools give f32.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, std::optional<IntList> dim, bool keepdim,
                        DType dtype) {
    if (!is_differentiable(input.dtype())) return mean(input, dim, keepdim, dtype);
    if (dtype != DType::none) kernel::check_floating("nanmean", "dtype", dtype);
    const Tensor count = sum(eq(input, input), dim, keepdim);
    const Tensor total = sum(numbers_of(input), dim, keepdim, dtype);
    return total / count.to(total.dtype());
  }
};

}  // namespace

TENON_OPS(Nansum, Nanmean)
