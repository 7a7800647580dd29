// Selection by a condition.
#include <tenon/plugin.hpp>
#include <tenon/kernel/complex.hpp>
#include <tenon/ops.hpp>

namespace {

using namespace tenon;

struct Where {
  static constexpr auto schema =
      "where(Tensor condition, Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) "
      "-> Tensor";
  static constexpr auto doc = "input where condition is true, other where it is not.";
  static constexpr auto promotion = promote_condition;
  static constexpr uint32_t dtypes = computed_dtypes | complex_dtypes;
  static constexpr auto element = [](bool condition, auto input, auto other) {
    return condition ? input : other;
  };
  static constexpr auto saves = "condition";
  static std::array<Tensor, 3> backward(ContextOf<Where>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return where(c["condition"_arg], g, 0); },
        "other"_arg = [&] { return where(c["condition"_arg], 0, g); });
  }
  static constexpr auto jvp = pointwise;
};

struct MaskedFill {
  static constexpr auto schema = "masked_fill(Tensor input, Tensor mask, Scalar value) -> Tensor";
  static constexpr auto doc =
      "value where mask is true, input where it is not; value is converted to the dtype of input, "
      "as fill_ does.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& mask, const Scalar& value) {
    if (mask.dtype() != boolean) {
      throw TypeError(std::string("masked_fill(): mask must be a bool tensor, but is ") +
                      dtype_text(mask.dtype()));
    }
    if (!value.fits(input.dtype())) {
      throw ValueError("masked_fill(): value " + value.text() + " does not fit the " +
                       dtype_text(input.dtype()) + " input: convert it to a wider dtype with to()");
    }
    if (is_differentiable(input.dtype())) return where(mask, value, input);
    return where(mask, input.dtype() == boolean ? Scalar(value.to<bool>()) : value.to<int64_t>(),
                 input);
  }
};

}  // namespace

TENON_OP(Where)
TENON_OPS_WITH_IN_PLACE(MaskedFill)
