// The plugin: a linear map as a Function, and the module that owns its weight and bias.
#include <tenon/plugin.hpp>
#include <tenon/init.hpp>
#include <tenon/module_definition.hpp>
#include <tenon/ops.hpp>

using tenon::Context, tenon::ContextOf, tenon::ModuleOf, tenon::Tensor;
using namespace tenon::literals;

struct LinearFunction {
  static constexpr auto schema =
      "examples.linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor";
  static constexpr auto doc = "input times the transposed weight, plus the bias.";

  static Tensor forward(Context& ctx, const Tensor& input, const Tensor& weight,
                        const Tensor& bias) {
    ctx.save_for_backward({input, weight, bias});
    const Tensor output = tenon::mm(input, weight.t());
    return bias.defined() ? output.add_(bias) : output;
  }
  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<LinearFunction>& ctx,
                                                     const Tensor& gradient) {
    const Tensor input = ctx.saved(0), weight = ctx.saved(1), bias = ctx.saved(2);
    return {tenon::mm(gradient, weight), tenon::mm(gradient.t(), input),
            bias.defined() ? gradient.sum(0) : Tensor()};
  }
};
TENON_OP(LinearFunction)

struct Linear : ModuleOf<Linear> {
  static constexpr auto schema =
      "examples.Linear(int input_features, int output_features, bool bias=True)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc = "examples.linear with its own weight and bias.";

  // Each is known by its name from here on. A bias that is never set is a name without a value: it
  // is not a parameter, and not in files.
  Parameter weight{*this, "weight"}, bias{*this, "bias"};

  Linear(int64_t input_features, int64_t output_features, bool with_bias) {
    weight = tenon::init::uniform_(tenon::zeros({output_features, input_features}), -0.1, 0.1);
    if (with_bias) bias = tenon::init::uniform_(tenon::zeros({output_features}), -0.1, 0.1);
  }
  Tensor forward(const Tensor& input) const {
    static const tenon::Op linear("examples.linear");
    return linear.call<Tensor>(input, weight, bias);
  }
  std::string extra_repr() const {
    return "input_features=" + std::to_string((*this)["input_features"_arg]) +
           ", output_features=" + std::to_string((*this)["output_features"_arg]) +
           ", bias=" + (bias.defined() ? "True" : "False");
  }
};
TENON_MODULE(Linear)

TENON_PLUGIN(linear_module, "1.0.0")
