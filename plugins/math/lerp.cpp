// lerp: linear interpolation.
#include <type_traits>

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

template <class T>
T between(T input, T end, T weight) {
  const T way = end - input, rest = T{1} - weight;
  // From the nearer end, which is then met exactly.
  const T near = is_small(weight) ? input + weight * way : end - way * rest;
  if constexpr (std::is_floating_point_v<T>) {
    // A difference that overflows, or of an infinity: an end that has no weight counts for nothing.
    const T apart = input * rest + end * weight;
    const T value = way - way == 0 ? near : apart;
    const bool at_input = (weight == 0 && end == end) || input == end;
    const bool at_end = weight == 1 && input == input;
    return at_input ? input : at_end ? end : value;
  } else {
    return near;
  }
}

struct Lerp : FloatOp {
  static constexpr auto schema =
      "lerp(Tensor input, Tensor end, Tensor|Scalar weight, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "input + weight * (end - input), without overflow on the way: exactly input and end where "
      "weight is 0 and 1, also beside an infinity, and where both are equal. Integers give f32.";
  static constexpr auto accuracy =
      "f32 2, f64 1.7; gradient f32 0.5, f64 0.5; of the larger distance and end";
  static constexpr auto element = [](auto input, auto end, auto weight) {
    return between(input, end, weight);
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
              const Tensor from = c["input"_arg].to(g.dtype()), to = c["end"_arg].to(g.dtype());
              // Equal infinities have no difference.
              const Tensor equal = logical_and(eq(from, to), logical_not(isfinite(from)));
              return g * conjugate(masked_fill(to - from, equal, 0));
            });
  }
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(Lerp)
