// The plugin: x³ with a derivative that is computed once, in forward, and used in every order.
#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

using tenon::Context, tenon::Tensor;

// The derivative is a result, so gradients flow through it: grad_slope is what arrives there.
struct MyCube {
  static constexpr auto schema = "examples.my_cube(Tensor x) -> (Tensor cube, Tensor slope)";
  static constexpr auto doc = "x³ and its derivative 3x².";
  static constexpr bool twice_differentiable = true;

  static std::tuple<Tensor, Tensor> forward(Context& ctx, const Tensor& x) {
    const Tensor slope = 3 * x.square();
    ctx.save_for_backward({x, slope});
    return {x.pow(3), slope};
  }
  static Tensor backward(Context& ctx, const Tensor& grad_cube, const Tensor& grad_slope) {
    const Tensor x = ctx.saved(0), slope = ctx.saved(1);
    return grad_cube * slope + grad_slope * 6 * x;
  }
};
TENON_OP(MyCube)

// The op that applications call: the slope stays inside.
struct Cube {
  static constexpr auto schema = "examples.cube(Tensor x) -> Tensor";
  static constexpr auto doc = "x³, differentiable as often as you like.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& x) {
    static const tenon::Op my_cube("examples.my_cube");
    return std::get<0>(my_cube.call<std::tuple<Tensor, Tensor>>(x));
  }
};
TENON_OP(Cube)

TENON_PLUGIN(my_cube, "1.0.0")
