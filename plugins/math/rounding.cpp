// Rounding to whole numbers; integers stay as they are. The gradient is 0, and recorded, so that
// models that round on the way train.
#include <cmath>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

namespace {

using namespace tenon;

struct Rounding {
  static constexpr uint32_t dtypes = floating_dtypes | integer_dtypes;
  static Tensor backward(Context&, const Tensor& g) { return zeros_like(g); }
  static constexpr auto jvp = pointwise;
};

struct Floor : Rounding {
  static constexpr auto schema = "floor(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The next whole number at or below. The gradient is 0.";
  static constexpr auto accuracy = "exact";
  static constexpr auto element = [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>)
      return x;
    else
      return std::floor(x);
  };
};

struct Ceil : Rounding {
  static constexpr auto schema = "ceil(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The next whole number at or above. The gradient is 0.";
  static constexpr auto accuracy = "exact";
  static constexpr auto element = [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>)
      return x;
    else
      return std::ceil(x);
  };
};

struct Round : Rounding {
  static constexpr auto schema = "round(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The nearest whole number; of two, the even one. The gradient is 0.";
  static constexpr auto accuracy = "exact";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}}, {"input": {"values": [0.5, 2.5, -1.5, 3.5, 1.25], "requires_grad": false}}])";
  static constexpr auto element = [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>)
      return x;
    else
      return std::nearbyint(x);
  };
};

struct Trunc : Rounding {
  static constexpr auto schema = "trunc(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The next whole number toward 0. The gradient is 0.";
  static constexpr auto accuracy = "exact";
  static constexpr auto element = [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>)
      return x;
    else
      return std::trunc(x);
  };
};

struct Frac {
  static constexpr auto schema = "frac(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "input - trunc(input): the part behind the point; NaN of infinities. "
      "The dtype must be floating.";
  static constexpr auto accuracy = "exact";
  static constexpr auto samples =
      R"([{"input": {"values": [1.25, -2.6, 0.3]}}, {"input": {"shape": [2, 2], "values": [0.5, -7.7, 3.1, -0.2]}}])";
  static constexpr uint32_t dtypes = floating_dtypes;
  static constexpr auto element = [](auto x) { return x - std::trunc(x); };
  static Tensor backward(Context&, const Tensor& g) { return g; }
  static constexpr auto jvp = pointwise;
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(Floor, Ceil, Round, Trunc, Frac)
