// Sine, cosine, tangent and their inverses, in radians.
#include <tenon/plugin.hpp>

#include "operand.hpp"

namespace {

using namespace tenon;

struct Sin {
  static constexpr auto schema = "sin(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The sine.";
  static constexpr auto promotion = promote_float;
  static constexpr auto element = [](auto x) { return kernel::sin(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Sin>& c, const Tensor& g) { return g * cos(c["input"_arg]); }
  static constexpr auto jvp = pointwise;
};

struct Cos {
  static constexpr auto schema = "cos(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The cosine.";
  static constexpr auto promotion = promote_float;
  static constexpr auto element = [](auto x) { return kernel::cos(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Cos>& c, const Tensor& g) { return -g * sin(c["input"_arg]); }
  static constexpr auto jvp = pointwise;
};

struct Tan {
  static constexpr auto schema = "tan(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The tangent.";
  static constexpr auto promotion = promote_float;
  static constexpr auto element = [](auto x) { return kernel::tan(x); };
  static constexpr auto saves = "result";
  static Tensor backward(Context& c, const Tensor& g) { return g * (square(c.result()) + 1); }
  static constexpr auto jvp = pointwise;
};

struct Asin {
  static constexpr auto schema = "asin(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The angle in [-pi/2, pi/2] whose sine is input; NaN outside of [-1, 1].";
  static constexpr auto promotion = promote_float;
  static constexpr auto element = [](auto x) { return kernel::asin(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Asin>& c, const Tensor& g) {
    return g * rsqrt(1 - square(c["input"_arg]));
  }
  static constexpr auto jvp = pointwise;
};

struct Acos {
  static constexpr auto schema = "acos(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The angle in [0, pi] whose cosine is input; NaN outside of [-1, 1].";
  static constexpr auto promotion = promote_float;
  static constexpr auto element = [](auto x) { return kernel::acos(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Acos>& c, const Tensor& g) {
    return -g * rsqrt(1 - square(c["input"_arg]));
  }
  static constexpr auto jvp = pointwise;
};

struct Atan {
  static constexpr auto schema = "atan(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The angle in [-pi/2, pi/2] whose tangent is input.";
  static constexpr auto promotion = promote_float;
  static constexpr auto element = [](auto x) { return kernel::atan(x); };
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Atan>& c, const Tensor& g) {
    return g / (square(c["input"_arg]) + 1);
  }
  static constexpr auto jvp = pointwise;
};

struct Atan2 {
  static constexpr auto schema =
      "atan2(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The angle in [-pi, pi] of the point (other, input).";
  static constexpr auto promotion = promote_float;
  static constexpr auto element = [](auto y, auto x) { return kernel::atan2(y, x); };
  static constexpr auto saves = "input, other";
  static std::array<Tensor, 2> backward(ContextOf<Atan2>& c, const Tensor& g) {
    const Tensor y = operand_as(c["input"_arg], g.dtype()),
                 x = operand_as(c["other"_arg], g.dtype());
    const Tensor scaled = g / (square(y) + square(x));
    return {c.needs_input_grad("input"_arg) ? scaled * x : Tensor(),
            c.needs_input_grad("other"_arg) ? -scaled * y : Tensor()};
  }
  static constexpr auto jvp = pointwise;
};

}  // namespace

TENON_OP(Sin)
TENON_OP(Cos)
TENON_OP(Tan)
TENON_OP(Asin)
TENON_OP(Acos)
TENON_OP(Atan)
TENON_OP(Atan2)
