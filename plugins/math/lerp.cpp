// lerp: linear interpolation.
#include <tenon/kernel/complex.hpp>
#include <tenon/plugin.hpp>

#include "float_op.hpp"
#include "operand.hpp"

namespace {

using namespace tenon;

template <class T>
bool is_small(T weight) {
  return weight < T{0.5};
}
template <class T>
bool is_small(std::complex<T> weight) {
  return std::norm(weight) < T{0.25};
}

struct Lerp : FloatOp {
  static constexpr auto schema =
      "lerp(Tensor input, Tensor end, Tensor|Scalar weight, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "input + weight * (end - input); exactly end where weight is 1. Integers give f32.";
  static constexpr auto element = [](auto input, auto end, auto weight) {
    const auto way = end - input;
    // From the nearer end, which is then met exactly.
    return is_small(weight) ? input + weight * way : end - way * (decltype(weight){1} - weight);
  };
  static constexpr auto saves = "input for weight, end for weight, weight";
  static std::array<Tensor, 3> backward(ContextOf<Lerp>& c, const Tensor& g) {
    std::array<Tensor, 3> gradients;
    const Tensor weight = operand_as(c["weight"_arg], g.dtype());
    if (c.needs_input_grad("input"_arg)) gradients[0] = g * conjugate(1 - weight);
    if (c.needs_input_grad("end"_arg)) gradients[1] = g * conjugate(weight);
    if (c.needs_input_grad("weight"_arg)) {
      gradients[2] = g * conjugate(c["end"_arg].to(g.dtype()) - c["input"_arg].to(g.dtype()));
    }
    return gradients;
  }
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(Lerp)
