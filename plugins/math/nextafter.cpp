// nextafter.
#include <cmath>

#include <tenon/plugin.hpp>

namespace {

using namespace tenon;

struct Nextafter {
  static constexpr auto schema =
      "nextafter(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "requires_grad": false}, "other": {"shape": [3],
          "requires_grad": false}}])";
  static constexpr auto doc =
      "The next number that the dtype has after input, toward other. The dtype must be floating; "
      "there is no derivative.";
  static constexpr uint32_t dtypes = floating_dtypes;
  static constexpr auto element = [](auto input, auto other) {
    return std::nextafter(input, other);
  };
};

}  // namespace

TENON_OP(Nextafter)
