// vector_norm and norm.
#include <cmath>
#include <limits>

#include "reduction.hpp"

using namespace tenon;
using namespace math;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
struct SquarePolicy {
  using In = T;
  using Lane = double;
  struct Total {
    double value = 0;
  };
  static constexpr int64_t block_elements = 1024;
  static constexpr bool separates_nan = false;
  static constexpr Lane identity() { return 0; }
  template <class V, class X>
  TENON_INLINE static void step(V& lanes, const X& elements) {
    V converted;
    kernel::convert(converted, elements);
    lanes += converted * converted;
  }
  template <class V>
  TENON_INLINE static void join(V& lanes, const V& others) {
    lanes += others;
  }
  TENON_INLINE static void add(Total& total, Lane lane) { total.value += lane; }
  static void merge(Total& total, const Total& other) { total.value += other.value; }
};

// The root of the sum of squares, in f64. `safe` becomes false where squares may have overflowed or
// vanished.
Tensor root_of_squares(const Tensor& x, const Reduction& plan, bool& safe) {
  const Tensor result = empty_tensor(plan.shape, x.dtype());
  kernel::visit<floating_dtypes>(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    using Kernel = kernel::LaneKernel<SquarePolicy<T>>;
    T* to = kernel::elements<T>(result);
    kernel::reduce<Kernel>(x, plan, [=](int64_t at, const typename Kernel::Total& total) {
      to[at] = static_cast<T>(std::sqrt(total.value));
    });
    for (int64_t i = 0; x.dtype() == f64 && i < result.numel(); ++i) {
      const auto value = static_cast<double>(to[i]);
      safe = safe && !(value < 1e-140) && value < infinity;
    }
  });
  return result;
}

// The element of each line that has the largest power, 1 where it is 0 or not finite: what elements
// are divided by so that their powers are of a size.
Tensor scale_of(const Tensor& magnitude, double ord, std::optional<IntList> dim) {
  const Tensor scale = ord < 0 ? amin(magnitude, dim, true) : amax(magnitude, dim, true);
  return masked_fill(scale, logical_or(eq(scale, 0), logical_not(isfinite(scale))), 1);
}

Tensor power_norm(const Tensor& x, double ord, std::optional<IntList> dim, bool keepdim) {
  const Tensor magnitude = abs(x);
  const auto norm_of = [&](const Tensor& scaled) {
    return pow(sum(pow(scaled, ord), dim, keepdim), 1 / ord);
  };
  if (x.numel() == 0) return norm_of(magnitude);
  const Tensor scale = scale_of(magnitude, ord, dim);
  const Tensor norm = norm_of(magnitude / scale);
  return norm * scale.reshape(norm.shape());
}

Tensor vector_norm_of(const char* op, const Tensor& input, double ord, std::optional<IntList> dim,
                      bool keepdim, DType dtype) {
  if (dtype != DType::none) kernel::check_floating(op, "dtype", dtype);
  const DType natural = is_differentiable(input.dtype()) ? input.dtype() : f32;
  const Tensor x = to(is_complex(input.dtype()) ? abs(input) : input,
                      dtype == DType::none ? real_dtype(natural) : dtype);
  if (ord != ord)
    throw ValueError(std::string(op) + "(): ord is NaN: choose a number, inf or -inf");
  const Reduction plan = ord < 0 || ord == infinity ? plan_nonempty_reduction(op, x, dim, keepdim)
                                                    : plan_reduction(op, x, dim, keepdim);
  if (ord == infinity) return amax(abs(x), dim, keepdim);
  if (ord == -infinity) return amin(abs(x), dim, keepdim);
  if (ord == 0) return sum(ne(x, 0), dim, keepdim).to(x.dtype());
  if (ord == 1) return sum(abs(x), dim, keepdim);
  if (ord != 2) return power_norm(x, ord, dim, keepdim);
  bool safe = true;
  const Tensor norm = root_of_squares(x, plan, safe);
  return safe || x.numel() == 0 ? norm : power_norm(x, ord, dim, keepdim);
}

// The derivative of the norm by each element: 0 where the norm is 0; ties of the largest share.
Tensor slope(const Tensor& input, double ord, std::optional<IntList> dim, const Tensor& given) {
  Tensor x = input.to(given.dtype()), norm = given;
  if (ord == 0) return zeros_like(x);
  if (ord == 1) return sign(x);
  if (std::fabs(ord) == infinity) {
    const Tensor chosen = eq(abs(x), norm);
    return sign(x) * chosen / chosen.sum(dim, true).clamp(1);
  }
  // Infinite elements are ties of one size, beside which finite ones are nothing.
  if (const Tensor endless = eq(norm, infinity); any(endless).item<bool>()) {
    const Tensor infinite = eq(abs(x), infinity);
    x = where(endless, sign(x) * infinite, x);
    norm = where(endless, pow(infinite.sum(dim, true).to(norm.dtype()), 1 / ord), norm);
  }
  const Tensor divisor = norm.masked_fill(eq(norm, 0), infinity);
  if (ord == 2) return x / divisor;
  // The power has no derivative at x = 0 for orders below 2, and no finite one below 1.
  const Tensor flat = eq(x, 0), magnitude = abs(x);
  const auto apart = [&](const Tensor& t) { return masked_fill(t, flat, 1); };
  const Tensor power = ord < 1   ? pow(norm / apart(magnitude), 1 - ord)
                       : ord < 2 ? pow(apart(magnitude / divisor), ord - 1)
                                 : pow(magnitude / divisor, ord - 1);
  return sign(x) * masked_fill(power, flat, 0);
}

// The slope of the norm by each complex element: its size changes along its own direction.
Tensor complex_slope(const Tensor& input, double ord, std::optional<IntList> dim,
                     const Tensor& norm) {
  if (!is_complex(input.dtype())) return slope(input, ord, dim, norm);
  return slope(abs(input), ord, dim, norm) * sgn(input);
}

struct VectorNorm {
  static constexpr auto schema =
      "vector_norm(Tensor input, float ord=2.0, int[]? dim=None, bool keepdim=False, *, dtype? "
      "dtype=None, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The norm over the given dimensions, or over all: sum(|input|^ord)^(1/ord), without "
      "overflow; "
      "for inf and -inf the largest and smallest magnitude, for 0 the number of elements that are "
      "not 0. Integers give f32. Without elements it is 0; a negative or infinite ord is refused. "
      "Where the norm is 0 it has no derivative: the gradient is 0 there, and so are later ones. "
      "So "
      "is the gradient of ord 0; ties of inf and -inf share it.";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}}, {"input": {"shape": [2, 3]}, "ord": 1, "dim": [1]},
          {"input": {"shape": [2, 3]}, "ord": 3.5, "dim": [0], "keepdim": true},
          {"input": {"shape": [2, 3]}, "ord": -1.5}, {"input": {"shape": [2, 3]}, "ord": 0}])";
  static constexpr auto saves = "input, result";
  static Tensor forward(const Tensor& input, double ord, std::optional<IntList> dim, bool keepdim,
                        DType dtype) {
    const Tensor norm =
        vector_norm_of("vector_norm", input, ord, dim, keepdim, compute_dtype(dtype));
    return is_half(dtype) ? norm.to(dtype) : norm;
  }
  static Tensor kept(ContextOf<VectorNorm>& c, const Tensor& x) {
    return keep_dimensions("vector_norm", x, c["input"_arg], c["dim"_arg], c["keepdim"_arg]);
  }
  static Tensor backward(ContextOf<VectorNorm>& c, const Tensor& g) {
    return kept(c, g) *
           complex_slope(c["input"_arg], c["ord"_arg], c["dim"_arg], kept(c, c.result()));
  }
  static Tensor jvp(ContextOf<VectorNorm>& c, const Tensor& tangent) {
    const auto dim = c["dim"_arg];
    const Tensor by = complex_slope(c["input"_arg], c["ord"_arg], dim, kept(c, c.result()));
    return real(tangent * conjugate(by)).sum(dim, c["keepdim"_arg]);
  }
};

struct Norm {
  static constexpr auto schema =
      "norm(Tensor input, float p=2.0, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None, "
      "Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "vector_norm: of a matrix, too, p is about its elements, and 2 is the Frobenius norm. Where "
      "the "
      "norm is 0 its gradient is 0.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, double p, std::optional<IntList> dim, bool keepdim,
                        DType dtype) {
    static const Op op("vector_norm");
    return op.call<Tensor>(input, p, dim, keepdim, dtype);
  }
};

}  // namespace

TENON_OPS(VectorNorm, Norm)
