// A plugin of one Function, to time its compilation.
#include <tenon/plugin.hpp>

namespace {

using tenon::Context;
using tenon::Tensor;

struct MulConstant {
  static constexpr auto schema =
      "one_function.mul_constant(Tensor input, float constant) -> Tensor";
  static constexpr auto doc = "The tensor times a number.";
  static Tensor forward(Context& context, const Tensor& input, double constant) {
    context.stash(constant);
    return input * constant;
  }
  static std::array<Tensor, 1> backward(Context& context, const Tensor& gradient) {
    return {gradient * context.stash<double>()};
  }
};

}  // namespace

TENON_OP(MulConstant)

TENON_PLUGIN(one_function, "1.0.0")
