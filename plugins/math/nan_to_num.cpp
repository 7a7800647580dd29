// nan_to_num.
#include <limits>

#include <tenon/kernel/check.hpp>
#include <tenon/plugin.hpp>

namespace {

using namespace tenon;

struct NanToNum {
  static constexpr auto schema =
      "nan_to_num(Tensor input, float? nan=None, float? posinf=None, float? neginf=None, *, "
      "Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "input with numbers in place of NaN (0 unless given), inf and -inf (the largest and smallest "
      "number of the dtype unless given). Integers and bools stay as they are.";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}}, {"input": {"shape": [3]}, "nan": 0.5, "posinf": 2}])";
  static constexpr auto saves = "input";
  static Tensor forward(const Tensor& input, std::optional<double> nan,
                        std::optional<double> posinf, std::optional<double> neginf,
                        const Tensor& out) {
    if (is_complex(input.dtype()))
      kernel::check_dtype("nan_to_num", "input", input.dtype(), computed_dtypes);
    if (!is_floating(input.dtype())) return where(full({}, true, boolean), input, input, out);
    const double largest = input.dtype() == f32 ? std::numeric_limits<float>::max()
                                                : std::numeric_limits<double>::max();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const Tensor numbers = where(isnan(input), nan.value_or(0), input);
    const Tensor bounded = where(eq(input, infinity), posinf.value_or(largest), numbers);
    return where(eq(input, -infinity), neginf.value_or(-largest), bounded, out);
  }
  static Tensor backward(ContextOf<NanToNum>& c, const Tensor& g) {
    return where(isfinite(c["input"_arg]), g, 0);
  }
  static constexpr auto jvp = pointwise;
};

}  // namespace

TENON_OP(NanToNum)
TENON_IN_PLACE_OP(NanToNum)
