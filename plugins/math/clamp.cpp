// clamp: elements cut to a range. The gradient passes where they are inside of it, bounds included.
#include <limits>

#include <tenon/plugin.hpp>
#include <tenon/kernel/isa.hpp>
#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>

namespace {

using namespace tenon;

// The dtype of the result: numbers count only where they are of a higher category.
DType clamped_dtype(DType input, const std::optional<Scalar>& min,
                    const std::optional<Scalar>& max) {
  const auto any = [&](auto is) { return (min && is(*min)) || (max && is(*max)); };
  if (is_floating(input)) return input;
  if (any([](const Scalar& bound) { return bound.is_floating(); })) return f32;
  if (input == boolean && any([](const Scalar& bound) { return !bound.is_bool(); })) return i64;
  return input;
}

// A bound beyond the range of an integer dtype cuts nothing, or everything: the former is moved to
// the end of the range, the latter has no result.
Scalar bound_in(const Scalar& bound, DType dtype, bool lower) {
  if (bound.fits(dtype)) return bound;
  return visit(dtype, [&](auto zero) -> Scalar {
    using Limits = std::numeric_limits<decltype(zero)>;
    const bool below = bound.to<int64_t>() < 0;
    if (below != lower) {
      throw ValueError(std::string("clamp(): ") + (lower ? "min" : "max") + " " + bound.text() +
                       " does not fit " + dtype_text(dtype) + ", which holds " +
                       std::to_string(Limits::min()) + " to " + std::to_string(Limits::max()) +
                       ": convert the tensor to a wider dtype with to()");
    }
    return below ? Limits::min() : Limits::max();
  });
}

// Bounds that are not NaN, in one pass: as maximum and minimum compare, written so that compilers
// vectorize it.
struct ClampLoop {
  TENON_INLINE static void run(const float* from, float* to, int64_t count, float min, float max) {
    TENON_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) {
      const float x = from[i], raised = !(x <= min) ? x : min;
      to[i] = !(raised >= max) ? raised : max;
    }
  }
};
Tensor clamp_dense(const Tensor& input, float min, float max) {
  const Tensor result = empty_tensor(input.shape());
  const auto* const from = input.data<const float>();
  auto* const to = result.data<float>();
  parallel_for(0, input.numel(), 32768, [=](int64_t begin, int64_t end) {
    kernel::run<ClampLoop>(from + begin, to + begin, end - begin, min, max);
  });
  return result;
}

struct Clamp {
  static constexpr auto schema =
      "clamp(Tensor input, Scalar? min=None, Scalar? max=None, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "min": -0.5},
          {"input": {"shape": [2, 3]}, "max": 0.5},
          {"input": {"shape": [2, 3]}, "min": -0.5, "max": 0.5}])";
  static constexpr auto doc =
      "Elements below min become min, then those above max become max; a bound that is NaN makes "
      "all of them NaN, with gradient 0. Elements that equal a bound have the gradient of those "
      "inside.";
  static Tensor forward(const Tensor& input, std::optional<Scalar> min, std::optional<Scalar> max,
                        const Tensor& out) {
    if (!min && !max) throw ValueError("clamp(): at least one of 'min' and 'max' must be given");
    const DType dtype = clamped_dtype(input.dtype(), min, max);
    if (min && max && !out.defined() && input.dtype() == f32 && input.is_contiguous()) {
      const auto low = min->to<float>(), high = max->to<float>();
      if (low == low && high == high) return clamp_dense(input, low, high);
    }
    Tensor result = input.dtype() == dtype ? input : contiguous_as(input, dtype);
    if (min) result = maximum(result, bound_in(*min, dtype, true), out);
    if (max) result = minimum(result, bound_in(*max, dtype, false), out);
    return result;
  }
  static constexpr auto saves = "input";
  static Tensor backward(ContextOf<Clamp>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    const auto min = c["min"_arg], max = c["max"_arg];
    if (!min) return where(le(x, *max), g, 0);
    if (!max) return where(ge(x, *min), g, 0);
    return where(logical_and(ge(x, *min), le(x, *max)), g, 0);
  }
  static constexpr auto jvp = pointwise;
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(Clamp)
