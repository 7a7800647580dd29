// floor_divide and remainder as in Python: rounded down, the remainder takes the divisor's sign.
// fmod as in C: rounded toward zero, the remainder takes the sign of what is divided.
//
// Defined for all integers: by zero all give 0, and the smallest divided by -1 wraps around to
// itself.
#include <cmath>

#include <tenon/plugin.hpp>

#include "operand.hpp"
#include "wrapping.hpp"

namespace {

using namespace tenon;

template <class T>
T remainder_of(T input, T other) {
  T rest{};
  if constexpr (std::is_floating_point_v<T>) {
    rest = std::fmod(input, other);
  } else {
    if (other == 0 || (std::is_signed_v<T> && other == static_cast<T>(-1))) return 0;
    rest = static_cast<T>(input % other);
  }
  return rest != 0 && (rest < 0) != (other < 0) ? static_cast<T>(rest + other) : rest;
}

template <class T>
T floor_quotient(T input, T other) {
  if constexpr (std::is_floating_point_v<T>) {
    if (other == 0) return input / other;
    const T rest = std::fmod(input, other);
    T quotient = (input - rest) / other;
    if (rest != 0 && (rest < 0) != (other < 0)) quotient -= 1;
    // Whole up to rounding, unless it is infinite or NaN.
    return quotient == 0 ? std::copysign(T{0}, input / other) : std::round(quotient);
  } else {
    if (other == 0) return 0;
    if (std::is_signed_v<T> && other == static_cast<T>(-1)) return static_cast<T>(-wrapping(input));
    return static_cast<T>(input / other - (input % other != 0 && (input < 0) != (other < 0)));
  }
}

struct FloorDivide {
  static constexpr auto schema =
      "floor_divide(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"values": [2.5, -1.2, 3.7]}, "other": {"values": [1.1, 0.7, -2.2]}},
          {"input": {"values": [2.5, -1.2]}, "other": 0.8}])";
  static constexpr auto doc =
      "input / other rounded down; an integer divided by zero gives 0. The gradient is 0.";
  static constexpr auto accuracy = "f32 2, f64 2; gradient f32 0, f64 0";
  static constexpr uint32_t dtypes = floating_dtypes | integer_dtypes;
  static constexpr auto element = [](auto input, auto other) {
    return floor_quotient(input, other);
  };
  static std::array<Tensor, 2> backward(ContextOf<FloorDivide>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return zeros_like(g); },
        "other"_arg = [&] { return zeros_like(g); });
  }
  static constexpr auto jvp = pointwise;
};

struct Remainder {
  static constexpr auto schema =
      "remainder(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "input - other * floor_divide(input, other); an integer modulo zero gives 0.";
  static constexpr auto accuracy = "f32 0.5, f64 0.5; gradient f32 2, f64 2";
  static constexpr uint32_t dtypes = floating_dtypes | integer_dtypes;
  static constexpr auto element = [](auto input, auto other) { return remainder_of(input, other); };
  static constexpr auto saves = "input for other, other";
  static std::array<Tensor, 2> backward(ContextOf<Remainder>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return g; },
        "other"_arg = [&] { return -g * floor_divide(c["input"_arg], c["other"_arg]); });
  }
  static constexpr auto jvp = pointwise;
};

struct Fmod {
  static constexpr auto schema =
      "fmod(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "input - other * trunc(input / other), with the sign of input; an integer modulo zero gives "
      "0.";
  static constexpr auto accuracy = "f32 0, f64 0; gradient f32 2, f64 2";
  static constexpr uint32_t dtypes = floating_dtypes | integer_dtypes;
  static constexpr auto element = [](auto input, auto other) {
    using T = decltype(input);
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(input, other);
    } else {
      if (other == 0 || (std::is_signed_v<T> && other == static_cast<T>(-1))) return T{0};
      return static_cast<T>(input % other);
    }
  };
  static constexpr auto saves = "input for other, other for other, result for other";
  static std::array<Tensor, 2> backward(ContextOf<Fmod>& c, const Tensor& g) {
    std::array<Tensor, 2> gradients;
    if (c.needs_input_grad("input"_arg)) gradients[0] = g;
    if (c.needs_input_grad("other"_arg)) {
      const Tensor x = operand_as(c["input"_arg], g.dtype()),
                   y = operand_as(c["other"_arg], g.dtype());
      // A whole number up to rounding: the quotient itself may have been rounded to the next one.
      gradients[1] = -g * round((x - c.result()) / y);
    }
    return gradients;
  }
  static constexpr auto jvp = pointwise;
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(FloorDivide, Remainder, Fmod)
