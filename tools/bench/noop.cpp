// The plugin whose ops do nothing: what a call of them takes is the call's own cost.
#include <tenon/plugin.hpp>

namespace {

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

}  // namespace

TENON_OP(First)
TENON_OP(Nothing)
TENON_OP(Fresh)

#define BENCH_LIST(op, module) op(First) op(Nothing) op(Fresh)
TENON_PLUGIN(bench, "1.0.0", BENCH_LIST)
