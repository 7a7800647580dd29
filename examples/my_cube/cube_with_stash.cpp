// How not to do it; `tenon check` says why.
#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

using tenon::Context, tenon::Tensor;

// The slope is a plain value to the engine, so its own gradient is lost.
struct CubeWithStash {
  static constexpr auto schema = "examples.cube_with_stash(Tensor x) -> Tensor";
  static constexpr auto doc = "x³, right in its first derivative alone.";

  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.stash(3 * x.square());
    return x.pow(3);
  }
  static Tensor backward(Context& ctx, const Tensor& grad) { return grad * ctx.stash<Tensor>(); }
};
TENON_OP(CubeWithStash)

TENON_PLUGIN(cube_with_stash, "1.0.0")
