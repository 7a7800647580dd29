// var and std.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reduction.hpp"

using namespace tenon;
using namespace math;

namespace {

// Count, mean and sum of squared deviations: of a block in two passes while it is in the cache,
// then merged.
template <class T>
struct MomentKernel {
  using In = T;
  struct Total {
    double count = 0, mean = 0, squares = 0;
  };
  static constexpr bool ordered = false, wide = true;
  static constexpr int64_t kRowBlock = 1024, kColumnBlock = 64;

  // The merge of Chan, Golub and LeVeque (1979).
  static void merge(Total& total, const Total& other) {
    if (other.count == 0) return;
    const double count = total.count + other.count, difference = other.mean - total.mean;
    total.squares += other.squares + difference * difference * (total.count * other.count / count);
    total.mean += difference * (other.count / count);
    total.count = count;
  }
  // `first` and `second` are the sums of deviations from `center`, and of their squares.
  static void add(Total& total, int64_t block, double center, double first, double second) {
    const auto count = static_cast<double>(block);
    merge(total, Total{count, center + first / count, second - first * first / count});
  }

  template <int Bytes>
  TENON_INLINE static void rows(const T* in, int64_t, int64_t rows, int64_t row_step, int64_t count,
                                int64_t stride, Total* totals) {
    for (int64_t r = 0; r < rows; ++r, in += row_step) {
      for (int64_t from = 0; from < count; from += kRowBlock) {
        const int64_t block = count - from < kRowBlock ? count - from : kRowBlock;
        const T* at = in + from * stride;
        double sum = 0, first = 0, second = 0;
        add_powers<Bytes>(at, block, stride, 0, sum, second);
        const double center = sum / static_cast<double>(block);
        second = 0;
        add_powers<Bytes>(at, block, stride, center, first, second);
        add(totals[r], block, center, first, second);
      }
    }
  }
  // Adds the deviations from `center` and their squares. In f64, whatever the elements are: in f32
  // the squares would overflow from 1e19 on, and vanish below 1e-23.
  template <int Bytes>
  TENON_INLINE static void add_powers(const T* in, int64_t count, int64_t stride, double center,
                                      double& first, double& second) {
    constexpr auto N = static_cast<int64_t>(Bytes / sizeof(double));
    using V = kernel::Vector<double, Bytes>;
    using Elements = kernel::Vector<T, static_cast<int>(N * static_cast<int64_t>(sizeof(T)))>;
    int64_t i = 0;
    if (stride == 1 && count >= 2 * N) {
      V first_a{}, first_b{}, second_a{}, second_b{}, a, b;
      Elements x, y;
      for (; i + 2 * N <= count; i += 2 * N) {
        __builtin_memcpy(&x, in + i, sizeof(x));
        __builtin_memcpy(&y, in + i + N, sizeof(y));
        kernel::convert(a, x);
        kernel::convert(b, y);
        a -= center;
        b -= center;
        first_a += a;
        first_b += b;
        second_a += a * a;
        second_b += b * b;
      }
      for (int64_t k = 0; k < N; ++k) {
        first += first_a[k] + first_b[k];
        second += second_a[k] + second_b[k];
      }
    }
    for (; i < count; ++i) {
      const double deviation = static_cast<double>(in[i * stride]) - center;
      first += deviation;
      second += deviation * deviation;
    }
  }

  template <int Bytes>
  TENON_INLINE static void columns(const T* in, int64_t, int64_t rows, int64_t row_stride,
                                   int64_t columns, Total* totals) {
    double center[kernel::most_columns], first[kernel::most_columns], second[kernel::most_columns];
    for (int64_t from = 0; from < rows; from += kColumnBlock) {
      const int64_t block = rows - from < kColumnBlock ? rows - from : kColumnBlock;
      for (int64_t c = 0; c < columns; ++c) center[c] = first[c] = second[c] = 0;
      const T* line = in;
      for (int64_t r = 0; r < block; ++r, line += row_stride) {
        for (int64_t c = 0; c < columns; ++c) center[c] += static_cast<double>(line[c]);
      }
      for (int64_t c = 0; c < columns; ++c) center[c] /= static_cast<double>(block);
      for (int64_t r = 0; r < block; ++r, in += row_stride) {
        for (int64_t c = 0; c < columns; ++c) {
          const double deviation = static_cast<double>(in[c]) - center[c];
          first[c] += deviation;
          second[c] += deviation * deviation;
        }
      }
      for (int64_t c = 0; c < columns; ++c) add(totals[c], block, center[c], first[c], second[c]);
    }
  }
};

Tensor spread(const char* op, const Tensor& input, std::optional<IntList> dim, bool keepdim,
              int64_t correction, bool root) {
  if (is_complex(input.dtype())) {  // the mean square of the distance to the mean
    const Tensor variance = spread(op, real(input), dim, keepdim, correction, false) +
                            spread(op, imag(input), dim, keepdim, correction, false);
    return root ? pow(variance, 0.5) : variance;
  }
  const Tensor source = is_floating(input.dtype()) ? input : contiguous_as(input, f32);
  const Reduction plan = plan_reduction(op, source, dim, keepdim);
  const Tensor result = empty_tensor(plan.shape, source.dtype());
  const double divisor =
      std::max(0.0, static_cast<double>(plan.extent) - static_cast<double>(correction));
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    using Kernel = MomentKernel<T>;
    T* to = kernel::elements<T>(result);
    kernel::reduce<Kernel>(source, plan, [=](int64_t at, const typename Kernel::Total& total) {
      const double variance = total.squares / divisor;
      to[at] = static_cast<T>(root ? ::sqrt(variance) : variance);
    });
  };
  kernel::visit<floating_dtypes>(source.dtype(), run);
  return result;
}

// Whether no square of a deviation may have overflowed or vanished. Those of f32 are in f64.
bool is_safe(const Tensor& deviations) {
  if (deviations.dtype() != f64) return true;
  const auto* at = deviations.numel() == 0 ? nullptr : kernel::elements<const double>(deviations);
  for (int64_t i = 0; i < deviations.numel(); ++i) {
    if (!(at[i] > 1e-140 && at[i] < std::numeric_limits<double>::infinity())) return false;
  }
  return true;
}
// The root of the variance; once more of what is divided by its largest element where squares are
// not safe.
Tensor deviation(const char* op, const Tensor& input, std::optional<IntList> dim, bool keepdim,
                 int64_t correction) {
  const Tensor result = spread(op, input, dim, keepdim, correction, true);
  if (input.numel() == 0 || is_safe(result)) return result;
  Tensor scale = amax(abs(input), dim, true);
  scale = masked_fill(scale, logical_or(eq(scale, 0), logical_not(isfinite(scale))), 1);
  const Tensor scaled = spread(op, input / scale, dim, true, correction, true);
  return (scaled * scale).reshape(result.shape());
}

// 2 (input - mean) / divisor: the derivative of the variance by each element.
template <class Op>
Tensor variance_slope(const char* op, ContextOf<Op>& c) {
  const Tensor& input = c["input"_arg];
  const auto dim = c["dim"_arg];
  const Reduction plan = plan_reduction(op, input, dim, true);
  const auto divisor = static_cast<double>(std::max<int64_t>(0, plan.extent - c["correction"_arg]));
  return (input - input.mean(dim, true)) * (2.0 / divisor);
}
// How the variance changes with the elements.
template <class Op>
Tensor variance_tangent(const char* op, ContextOf<Op>& c, const Tensor& tangent) {
  const Tensor change = conjugate(variance_slope(op, c)) * tangent;
  return (is_complex(change.dtype()) ? real(change) : change).sum(c["dim"_arg], c["keepdim"_arg]);
}
template <class Op>
Tensor kept(const char* op, ContextOf<Op>& c, const Tensor& g) {
  return keep_dimensions(op, g, c["input"_arg], c["dim"_arg], c["keepdim"_arg]);
}

struct Var {
  static constexpr auto schema =
      "var(Tensor input, int[]? dim=None, bool keepdim=False, *, int correction=1, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc =
      "The variance over the given dimensions, or over all: squared deviations over (count - "
      "correction), "
      "infinite or NaN, like the gradient, where that is not positive. Integers give f32; complex "
      "numbers real results, of squared magnitudes.";
  static constexpr auto saves = "input";
  static Tensor forward(const Tensor& input, std::optional<IntList> dim, bool keepdim,
                        int64_t correction) {
    return spread("var", input, dim, keepdim, correction, false);
  }
  static Tensor backward(ContextOf<Var>& c, const Tensor& g) {
    return kept("var", c, g) * variance_slope("var", c);
  }
  static Tensor jvp(ContextOf<Var>& c, TensorList tangents) {
    return variance_tangent("var", c, tangents[0]);
  }
};

struct Std {
  static constexpr auto schema =
      "std(Tensor input, int[]? dim=None, bool keepdim=False, *, int correction=1, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc =
      "The standard deviation over the given dimensions, or over all: the square root of var, "
      "without overflow. Where it is 0 the gradient is 0, and so are later ones.";
  static constexpr auto saves = "input, result";
  static Tensor forward(const Tensor& input, std::optional<IntList> dim, bool keepdim,
                        int64_t correction) {
    return deviation("std", input, dim, keepdim, correction);
  }
  static Tensor backward(ContextOf<Std>& c, const Tensor& g) {
    return kept("std", c, through_root(c, g)) * variance_slope("std", c);
  }
  static Tensor jvp(ContextOf<Std>& c, TensorList tangents) {
    return through_root(c, variance_tangent("std", c, tangents[0]));
  }
  static Tensor through_root(Context& c, const Tensor& g) {
    const Tensor result = c.result();
    return (g / (result * 2)).masked_fill(eq(result, 0), 0);
  }
};

}  // namespace

TENON_OPS(Var, Std)
