// Shifts of the bits of integers, defined for every count: what a count that is negative or beyond
// the width leaves is 0, or the sign on the right.
#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

namespace {

using namespace tenon;

struct Shift {
  static constexpr uint32_t dtypes = integer_dtypes;
  static constexpr bool zero_gradient = true;
};

template <class T>
constexpr bool within_width(T count) {
  return count >= 0 && static_cast<uint64_t>(count) < sizeof(T) * 8;
}

struct BitwiseLeftShift : Shift {
  static constexpr auto schema =
      "bitwise_left_shift(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc =
      "The bits of input moved up by other places; 0 where other is negative or at least the width "
      "of the dtype.";
  static constexpr auto element = [](auto input, auto other) {
    using T = decltype(input);
    return within_width(other) ? static_cast<T>(static_cast<uint64_t>(input) << other) : T{0};
  };
};

struct BitwiseRightShift : Shift {
  static constexpr auto schema =
      "bitwise_right_shift(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc =
      "The bits of input moved down by other places, the sign kept; 0, or -1 for negative input, "
      "where other is negative or at least the width of the dtype.";
  static constexpr auto element = [](auto input, auto other) {
    using T = decltype(input);
    return within_width(other) ? static_cast<T>(input >> other)
                               : static_cast<T>(input < 0 ? -1 : 0);
  };
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(BitwiseLeftShift, BitwiseRightShift)
