// The plugin that is measured: ops that do nothing, so that a call of them takes what a call costs,
// and the Functions of the peer's benchmark.
#include <tenon/plugin.hpp>

namespace {

using tenon::Context;
using tenon::Tensor;

struct First {
  static constexpr auto schema = "bench.first(Tensor input, Tensor other) -> Tensor";
  static constexpr auto doc = "The first operand.";
  static Tensor forward(const Tensor& input, const Tensor&) { return input; }
};
struct Nothing {
  static constexpr auto schema = "bench.nothing(Tensor input, Tensor other) -> ()";
  static constexpr auto doc = "No result.";
  static void forward(const Tensor&, const Tensor&) {}
};
struct Fresh {
  static constexpr auto schema = "bench.fresh(Tensor input, Tensor other) -> Tensor";
  static constexpr auto doc = "A new result that is left uninitialized.";
  static Tensor forward(const Tensor& input, const Tensor&) {
    return tenon::empty_tensor(input.shape(), input.dtype());
  }
};
struct MulConstant {
  static constexpr auto schema = "bench.mul_constant(Tensor x, float c) -> Tensor";
  static constexpr auto doc = "x * c.";
  static Tensor forward(Context&, const Tensor& x, double c) { return x * c; }
  static Tensor backward(Context& context, const Tensor& g) {
    return g * context.argument<double>(1);
  }
};
struct LinearFunction {
  static constexpr auto schema =
      "bench.linear_function(Tensor input, Tensor weight, Tensor bias) -> Tensor";
  static constexpr auto doc = "input times the transposed weight, plus bias.";
  static Tensor forward(Context& context, const Tensor& input, const Tensor& weight,
                        const Tensor& bias) {
    context.save_for_backward({input, weight, bias});
    const Tensor output = tenon::mm(input, weight.t());
    output.add_(bias);
    return output;
  }
  static std::array<Tensor, 3> backward(Context& context, const Tensor& g) {
    return {tenon::mm(g, context.saved(1)), tenon::mm(g.t(), context.saved(0)), g.sum(0)};
  }
};

}  // namespace

TENON_OP(First)
TENON_OP(Nothing)
TENON_OP(Fresh)
TENON_OP(MulConstant)
TENON_OP(LinearFunction)

#define BENCH_LIST(op, module) op(First) op(Nothing) op(Fresh) op(MulConstant) op(LinearFunction)
TENON_PLUGIN(bench, "1.0.0", BENCH_LIST)
