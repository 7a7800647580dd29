// The plugin: two Functions in instance style. Their attributes are the members of an object, which
// is made again for each forward and each backward.
#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

using tenon::Context, tenon::Tensor;

struct AddConstant {
  static constexpr auto schema = "examples.add_constant(Tensor input, *, float constant) -> Tensor";
  static constexpr auto doc = "Adds a number to each element.";
  static constexpr bool twice_differentiable = true;
  double constant;

  Tensor forward(Context&, const Tensor& input) const { return input + constant; }
  Tensor backward(Context&, const Tensor& gradient) const { return gradient; }
};
TENON_OP(AddConstant)

struct Transpose {
  static constexpr auto schema =
      "examples.transpose(Tensor(a) input, *, int dim0, int dim1) -> Tensor(a)";
  static constexpr auto doc = "Swaps two dimensions; the result is a view.";
  static constexpr bool twice_differentiable = true;
  int64_t dim0, dim1;

  Tensor forward(Context&, const Tensor& input) const { return input.transpose(dim0, dim1); }
  Tensor backward(Context&, const Tensor& gradient) const { return gradient.transpose(dim0, dim1); }
};
TENON_OP(Transpose)

TENON_PLUGIN(configured_ops, "1.0.0")
