// abs, neg and sign. The smallest integer has no opposite: abs and neg give it back.
#include <cmath>

#include <tenon/plugin.hpp>

#include "wrapping.hpp"

namespace {

using namespace tenon;

struct Abs {
  static constexpr auto schema = "abs(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The absolute value.";
  static constexpr uint32_t dtypes = floating_dtypes | integer_dtypes;
  static constexpr auto element = [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>)
      return std::fabs(x);
    else
      return x < 0 ? -wrapping(x) : wrapping(x);
  };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Abs>& c, const Tensor& g) { return g * sign(c["input"_arg]); }
  static constexpr auto jvp = pointwise;
};

struct Neg {
  static constexpr auto schema = "neg(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "-input.";
  static constexpr uint32_t dtypes = floating_dtypes | integer_dtypes;
  static constexpr auto element = [](auto x) { return -wrapping(x); };
  static Tensor backward(Context&, const Tensor& g) { return -g; }
  static constexpr auto jvp = pointwise;
};

struct Sign {
  static constexpr auto schema = "sign(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "1 for positive elements, -1 for negative ones, 0 for the rest, NaN among them. The gradient "
      "is 0.";
  static constexpr auto element = [](auto x) {
    if constexpr (std::is_same_v<decltype(x), bool>)
      return x;
    else
      return (x > 0) - (x < 0);
  };
  static Tensor backward(Context&, const Tensor& g) { return zeros_like(g); }
  static constexpr auto jvp = pointwise;
};

}  // namespace

TENON_OP(Abs)
TENON_OP(Neg)
TENON_OP(Sign)
