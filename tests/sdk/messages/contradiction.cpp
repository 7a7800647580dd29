// expect: drop composite, or the backward
// lines: 24
#include <tenon/plugin.hpp>

using tenon::Context, tenon::Tensor;

struct Contradiction {
  static constexpr auto schema = "my.op(Tensor x) -> Tensor";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x) { return x; }
  static Tensor backward(Context&, const Tensor& g) { return g; }
};
TENON_OP(Contradiction)
