// Comparison with a tolerance, and of whole tensors.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

struct Isclose {
  static constexpr auto schema =
      "isclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
      "equal_nan=False) -> Tensor";
  static constexpr auto doc =
      "Whether |input - other| <= atol + rtol * |other|, element by element; equal infinities are "
      "close, NaN to NaN with equal_nan. Integers that are not equal are compared as f64.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& other, double rtol, double atol,
                        bool equal_nan) {
    for (const auto& [name, value] : {std::pair{"rtol", rtol}, std::pair{"atol", atol}}) {
      if (value >= 0) continue;
      throw ValueError(std::string("isclose(): ") + name + " must be at least 0, but it is " +
                       Scalar(value).text());
    }
    Tensor close = eq(input, other);
    if (equal_nan) close = logical_or(close, logical_and(ne(input, input), ne(other, other)));
    if (rtol == 0 && atol == 0) return close;
    const auto real = [](const Tensor& x) {
      return is_differentiable(x.dtype()) ? x.detach() : x.to(f64);
    };
    const Tensor a = real(input), b = real(other), difference = abs(a - b);
    const Tensor near = le(difference, abs(b * rtol) + atol);
    return logical_or(close, logical_and(isfinite(difference), near));
  }
};

struct Allclose {
  static constexpr auto schema =
      "allclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
      "equal_nan=False) -> bool";
  static constexpr auto doc = "Whether isclose holds for all elements; true where there is none.";
  static constexpr bool composite = true;
  static bool forward(const Tensor& input, const Tensor& other, double rtol, double atol,
                      bool equal_nan) {
    return all(isclose(input, other, rtol, atol, equal_nan)).item<bool>();
  }
};

struct Equal {
  static constexpr auto schema = "equal(Tensor input, Tensor other) -> bool";
  static constexpr auto doc =
      "Whether two tensors have one shape and equal elements; NaN equals nothing. Of each element: "
      "eq.";
  static constexpr bool composite = true;
  static bool forward(const Tensor& input, const Tensor& other) {
    return same_shape(input.shape(), other.shape()) && all(eq(input, other)).item<bool>();
  }
};

}  // namespace

TENON_OPS(Isclose, Allclose, Equal)
