// isin: which elements are among others.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

struct Isin {
  static constexpr auto schema =
      "isin(Tensor elements, Tensor test_elements, *, bool invert=False) -> Tensor";
  static constexpr auto samples =
      R"([{"elements": {"shape": [2, 3], "dtype": "i64"}, "test_elements": {"values": [1, 5], "dtype": "i64"}},
          {"elements": {"shape": [4], "requires_grad": false}, "test_elements": {"shape": [2, 2], "requires_grad": false},
           "invert": true}])";
  static constexpr auto doc =
      "Whether each of elements equals one of test_elements, with invert whether it equals none. "
      "NaN equals nothing.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& elements, const Tensor& test_elements, bool invert) {
    if (test_elements.numel() == 0) return full(elements.shape(), Scalar(invert), boolean);
    const DType common = common_dtype(elements.dtype(), test_elements.dtype());
    const DType compute = common == boolean ? u8 : common;
    const Tensor values = elements.to(compute);
    static const Op sort("sort");
    const Tensor sorted =
        std::get<0>(sort.call<std::tuple<Tensor, Tensor>>(test_elements.to(compute).reshape({-1})));
    const Tensor places = searchsorted(sorted, values).clamp(0, sorted.numel() - 1);
    const Tensor found =
        eq(sorted.index_select(0, places.reshape({-1})).reshape(elements.shape()), values);
    return invert ? logical_not(found) : found;
  }
};

}  // namespace

TENON_OP(Isin)
