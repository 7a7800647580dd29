// The plugin: a Function that forgets a gradient, and one whose backward cannot be differentiated.
#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

using tenon::Context, tenon::Gradients, tenon::Tensor;

struct LinearFunction {
  static constexpr auto schema =
      "examples.linear_function(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor";
  static constexpr auto doc = "input times weight transposed, plus bias.";

  static Tensor forward(Context& ctx, const Tensor& input, const Tensor& weight,
                        const Tensor& bias) {
    ctx.save_for_backward({input, weight});
    const Tensor output = mm(input, weight.t());
    return bias.defined() ? output + bias : output;
  }
  // Three inputs, two gradients. As std::tuple<Tensor, Tensor> it would not compile.
  static Gradients backward(Context& ctx, const Tensor& gradient) {
    const Tensor input = ctx.saved(0), weight = ctx.saved(1);
    return {mm(gradient, weight), mm(gradient.t(), input)};
  }
};
TENON_OP(LinearFunction)

struct Square {
  static constexpr auto schema = "examples.square(Tensor input) -> Tensor";
  static constexpr auto doc = "The square of each element.";
  static constexpr bool once_differentiable = true;

  static Tensor forward(Context& ctx, const Tensor& input) {
    ctx.save_for_backward({input});
    return input * input;
  }
  static Tensor backward(Context& ctx, const Tensor& gradient) {
    return gradient * ctx.saved(0) * 2;
  }
};
TENON_OP(Square)

TENON_PLUGIN(mistaken_functions, "1.0.0")
