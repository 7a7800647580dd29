// lerp: linear interpolation.
#include <tenon/plugin.hpp>
#include <tenon/kernel/complex.hpp>

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
    return needed_gradients(
        c, "input"_arg = [&] { return g * conjugate(1 - weight); },
        "end"_arg = [&] { return g * conjugate(weight); },
        "weight"_arg =
            [&] {
              return g * conjugate(c["end"_arg].to(g.dtype()) - c["input"_arg].to(g.dtype()));
            });
  }
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(Lerp)
