// The plugin: an op whose signature has an `out`.
#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

using tenon::Tensor;

struct Add {
  static constexpr auto schema =
      "examples.add(Tensor input, Tensor other, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The sum of two tensors of one shape and dtype.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& other, const Tensor& out) {
    return out.defined() ? out.copy_(input + other) : input + other;
  }
};
TENON_OP(Add)

TENON_PLUGIN(overridable_functions, "1.0.0")
