// The plugin: a tensor times a number, twice: as it is usually written, and without zeros for
// gradients that are not there.
#include <tenon/plugin.hpp>

using tenon::Context, tenon::ContextOf, tenon::Gradients, tenon::Tensor;
using namespace tenon::literals;

struct MulConstant {
  static constexpr auto schema = "examples.mul_constant(Tensor tensor, float constant) -> Tensor";
  static constexpr auto doc = "tensor * constant.";
  static constexpr bool twice_differentiable = true;

  static Tensor forward(Context&, const Tensor& tensor, double constant) {
    return tensor * constant;
  }
  // Arguments that are no tensors are kept with the call. Their gradient is none: an undefined
  // tensor.
  static Gradients backward(ContextOf<MulConstant>& ctx, const Tensor& gradient) {
    return {gradient * ctx["constant"_arg], Tensor()};
  }
};
TENON_OP(MulConstant)

struct MulConstantLazy {
  static constexpr auto schema =
      "examples.mul_constant_lazy(Tensor tensor, float constant) -> Tensor";
  static constexpr auto doc = "tensor * constant, with no work for gradients that are none.";
  static constexpr bool twice_differentiable = true;

  static Tensor forward(Context& ctx, const Tensor& tensor, double constant) {
    ctx.set_materialize_grads(false);
    return tensor * constant;
  }
  static Gradients backward(ContextOf<MulConstantLazy>& ctx, const Tensor& gradient) {
    if (!gradient.defined()) return {Tensor(), Tensor()};
    return {gradient * ctx["constant"_arg], Tensor()};
  }
};
TENON_OP(MulConstantLazy)

TENON_PLUGIN(mul_constant, "1.0.0")
