// amax, amin and aminmax.
#include "reduction.hpp"

using namespace tenon;
using namespace math;

namespace {

template <bool Largest>
Tensor extremum(const char* op, const Tensor& input, std::optional<IntList> dim, bool keepdim) {
  const Reduction plan = plan_nonempty_reduction(op, input, dim, keepdim);
  const Tensor result = empty_tensor(plan.shape, input.dtype());
  kernel::visit<computed_dtypes>(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    using Kernel = kernel::LaneKernel<kernel::ExtremumPolicy<T, Largest>>;
    T* to = kernel::elements<T>(result);
    kernel::reduce<Kernel>(input, plan, [=](int64_t at, const typename Kernel::Total& total) {
      to[at] = total.value;
    });
  });
  return result;
}

// The share of each element in its extremum: equal among ties, none elsewhere.
struct Share {
  Tensor chosen, count;
};
template <class Op>
Share share(const char* op, ContextOf<Op>& c) {
  const Tensor& input = c["input"_arg];
  const auto dim = c["dim"_arg];
  const Tensor best = keep_dimensions(op, c.result(), input, dim, c["keepdim"_arg]);
  const Tensor chosen = eq(input, best);
  return {chosen, chosen.sum(dim, true)};
}
template <class Op>
Tensor share_backward(const char* op, ContextOf<Op>& c, const Tensor& g) {
  const Share parts = share(op, c);
  const Tensor kept = keep_dimensions(op, g, c["input"_arg], c["dim"_arg], c["keepdim"_arg]);
  return kept / parts.count * parts.chosen;
}
template <class Op>
Tensor share_jvp(const char* op, ContextOf<Op>& c, TensorList tangents) {
  const Share parts = share(op, c);
  const Tensor result = (tangents[0] * parts.chosen).sum(c["dim"_arg], true) / parts.count;
  return result.reshape(c.result().shape());
}

struct Amax {
  static constexpr auto schema =
      "amax(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The largest element over the given dimensions; ties share the gradient.";
  static constexpr auto saves = "input, result";
  static Tensor forward(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
    return extremum<true>("amax", input, dim, keepdim);
  }
  static Tensor backward(ContextOf<Amax>& c, const Tensor& g) {
    return share_backward("amax", c, g);
  }
  static Tensor jvp(ContextOf<Amax>& c, TensorList tangents) {
    return share_jvp("amax", c, tangents);
  }
};

struct Amin {
  static constexpr auto schema =
      "amin(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The smallest element over the given dimensions; ties share the gradient.";
  static constexpr auto saves = "input, result";
  static Tensor forward(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
    return extremum<false>("amin", input, dim, keepdim);
  }
  static Tensor backward(ContextOf<Amin>& c, const Tensor& g) {
    return share_backward("amin", c, g);
  }
  static Tensor jvp(ContextOf<Amin>& c, TensorList tangents) {
    return share_jvp("amin", c, tangents);
  }
};

struct Aminmax {
  static constexpr auto schema =
      "aminmax(Tensor input, *, int? dim=None, bool keepdim=False, Tensor(a!)[]? out=None) -> "
      "(Tensor min, Tensor max)";
  static constexpr auto doc =
      "The smallest and the largest element along a dimension, or of all: amin and amax.";
  static constexpr bool composite = true;
  static std::tuple<Tensor, Tensor> forward(const Tensor& input, std::optional<int64_t> dim,
                                            bool keepdim) {
    std::optional<IntList> dims;
    if (dim) dims = IntList(&*dim, 1);
    return {amin(input, dims, keepdim), amax(input, dims, keepdim)};
  }
};

}  // namespace

TENON_OPS(Amax, Amin, Aminmax)
