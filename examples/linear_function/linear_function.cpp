// The plugin: a linear map with an optional bias, and its gradients by hand.
#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

using tenon::Context, tenon::ContextOf, tenon::Tensor;
using namespace tenon::literals;

struct LinearFunction {
  static constexpr auto schema =
      "examples.linear_function(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor";
  static constexpr auto doc = "input times the transposed weight, plus the bias.";
  static constexpr bool twice_differentiable = true;

  static Tensor forward(Context& ctx, const Tensor& input, const Tensor& weight,
                        const Tensor& bias) {
    ctx.save_for_backward({input, weight, bias});
    const Tensor output = tenon::mm(input, weight.t());
    if (bias.defined()) output.add_(bias);
    return output;
  }

  // One gradient for each input. One that is not needed stays undefined and costs nothing.
  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<LinearFunction>& ctx,
                                                     const Tensor& gradient) {
    const Tensor input = ctx.saved(0), weight = ctx.saved(1), bias = ctx.saved(2);
    Tensor input_gradient, weight_gradient, bias_gradient;
    if (ctx.needs_input_grad("input"_arg)) input_gradient = tenon::mm(gradient, weight);
    if (ctx.needs_input_grad("weight"_arg)) weight_gradient = tenon::mm(gradient.t(), input);
    if (bias.defined() && ctx.needs_input_grad("bias"_arg)) bias_gradient = gradient.sum(0);
    return {input_gradient, weight_gradient, bias_gradient};
  }
};
TENON_OP(LinearFunction)

TENON_PLUGIN(linear_function, "1.0.0")
