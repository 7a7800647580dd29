// Rounding to whole numbers; integers stay as they are.
#include <cmath>

#include <tenon/plugin.hpp>

namespace {

using namespace tenon;

struct Rounding {
  static constexpr uint32_t dtypes = floating_dtypes | integer_dtypes;
  static constexpr bool zero_gradient = true;
};

struct Floor : Rounding {
  static constexpr auto schema = "floor(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The next whole number at or below.";
  static constexpr auto element = [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>)
      return x;
    else
      return std::floor(x);
  };
};

struct Ceil : Rounding {
  static constexpr auto schema = "ceil(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The next whole number at or above.";
  static constexpr auto element = [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>)
      return x;
    else
      return std::ceil(x);
  };
};

struct Round : Rounding {
  static constexpr auto schema = "round(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The nearest whole number; of two, the even one.";
  static constexpr auto element = [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>)
      return x;
    else
      return std::nearbyint(x);
  };
};

struct Trunc : Rounding {
  static constexpr auto schema = "trunc(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The next whole number toward 0.";
  static constexpr auto element = [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>)
      return x;
    else
      return std::trunc(x);
  };
};

}  // namespace

TENON_OP(Floor)
TENON_OP(Ceil)
TENON_OP(Round)
TENON_OP(Trunc)
