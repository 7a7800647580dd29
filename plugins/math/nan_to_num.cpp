// nan_to_num.
#include <limits>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

namespace {

using namespace tenon;

double largest_of(DType dtype) {
  if (dtype == f16) return 65504;
  if (dtype == bf16) return 0x1.FEp127;
  return dtype == f32 ? static_cast<double>(std::numeric_limits<float>::max())
                      : std::numeric_limits<double>::max();
}

struct NanToNum {
  static constexpr auto schema =
      "nan_to_num(Tensor input, float? nan=None, float? posinf=None, float? neginf=None, *, "
      "Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "input with numbers in place of NaN (0 unless given), inf and -inf (the largest and smallest "
      "number of the dtype unless given), in both parts of complex numbers. Integers and bools "
      "stay "
      "as they are.";
  // 1e300 is infinite in f32, which JSON cannot write.
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}}, {"input": {"shape": [3]}, "nan": 0.5, "posinf": 2},
          {"input": {"values": [1e300, 0.5, -1e300], "dtype": "f32", "requires_grad": false}}])";
  static constexpr auto saves = "input";
  static constexpr bool any_dtype = true;  // the largest number is that of the operand's dtype
  static Tensor forward(const Tensor& input, std::optional<double> nan,
                        std::optional<double> posinf, std::optional<double> neginf) {
    if (is_complex(input.dtype()))
      return view_as_complex(forward(view_as_real(input), nan, posinf, neginf));
    if (!is_floating(input.dtype())) return clone(input);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double largest = largest_of(input.dtype());
    const Tensor numbers = where(isnan(input), nan.value_or(0), input);
    const Tensor bounded = where(eq(input, infinity), posinf.value_or(largest), numbers);
    return where(eq(input, -infinity), neginf.value_or(-largest), bounded);
  }
  static Tensor backward(ContextOf<NanToNum>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    if (!is_complex(x.dtype())) return where(isfinite(x), g, 0);
    return view_as_complex(where(isfinite(view_as_real(x)), view_as_real(g), 0));
  }
  static constexpr auto jvp = pointwise;
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(NanToNum)
