// logsumexp.
#include <limits>

#include "reduction.hpp"

using namespace tenon;
using namespace math;

namespace {

// The largest element and the sum of exponentials relative to it.
template <class T>
struct LogSumKernel {
  using In = T;
  using Lanes = kernel::ExtremumLanes<T, true>;
  struct Total {
    T largest = kernel::worst<T, true>();
    double sum = 0;
  };
  static constexpr bool ordered = false, wide = true;
  static constexpr int64_t kRowBlock = 1024, kColumnBlock = 64;

  static double relative(T value, T largest) {
    return value == largest ? 1.0
                            : ::exp(static_cast<double>(value) - static_cast<double>(largest));
  }
  static void merge(Total& total, const Total& other) {
    T largest = total.largest;
    kernel::take_better<true>(largest, other.largest);
    if (total.sum != 0) total.sum *= relative(total.largest, largest);
    if (other.sum != 0) total.sum += other.sum * relative(other.largest, largest);
    total.largest = largest;
  }

  template <int Bytes>
  TENON_INLINE static void rows(const T* in, int64_t, int64_t rows, int64_t row_step, int64_t count,
                                int64_t stride, Total* totals) {
    T terms[kRowBlock];
    for (int64_t r = 0; r < rows; ++r, in += row_step) {
      for (int64_t from = 0; from < count; from += kRowBlock) {
        const int64_t block = count - from < kRowBlock ? count - from : kRowBlock;
        const T* at = in + from * stride;
        const T best = stride == 1 ? kernel::gather_run<Lanes, Bytes, 4096>(at, block)
                                   : kernel::gather_strided<Lanes>(at, block, stride);
        const bool finite = best - best == 0;
        // An infinite largest has the last word: its sum is never read.
        const T center = finite ? best : T{0};
        for (int64_t i = 0; i < block; ++i) terms[i] = at[i * stride] - center;
        for (int64_t i = 0; i < block; ++i) terms[i] = kernel::exp(terms[i]);
        const T sum = kernel::gather_run<kernel::SumLanes<T>, Bytes>(terms, block);
        merge(totals[r], Total{best, finite ? static_cast<double>(sum) : 1.0});
      }
    }
  }
  template <int Bytes>
  TENON_INLINE static void columns(const T* in, int64_t, int64_t rows, int64_t row_stride,
                                   int64_t columns, Total* totals) {
    T largest[kernel::most_columns], center[kernel::most_columns], sums[kernel::most_columns];
    for (int64_t from = 0; from < rows; from += kColumnBlock) {
      const int64_t block = rows - from < kColumnBlock ? rows - from : kColumnBlock;
      for (int64_t c = 0; c < columns; ++c) largest[c] = in[c];
      const T* line = in + row_stride;
      for (int64_t r = 1; r < block; ++r, line += row_stride) {
        for (int64_t c = 0; c < columns; ++c) {
          largest[c] = ((line[c] > largest[c]) | (line[c] != line[c])) ? line[c] : largest[c];
        }
      }
      for (int64_t c = 0; c < columns; ++c) {
        center[c] = largest[c] - largest[c] == 0 ? largest[c] : T{0};
        sums[c] = 0;
      }
      for (int64_t r = 0; r < block; ++r, in += row_stride) {
        for (int64_t c = 0; c < columns; ++c) sums[c] += kernel::exp(in[c] - center[c]);
      }
      for (int64_t c = 0; c < columns; ++c) {
        const bool finite = largest[c] - largest[c] == 0;
        merge(totals[c], Total{largest[c], finite ? static_cast<double>(sums[c]) : 1.0});
      }
    }
  }
};

// The share of each element in the sum: the derivative. Nothing has a share in an empty sum (-inf).
Tensor shares(const Tensor& input, std::optional<IntList> dim, bool keepdim, const Tensor& result) {
  const Tensor kept = keep_dimensions("logsumexp", result, input, dim, keepdim);
  const Tensor empty = eq(kept, -std::numeric_limits<double>::infinity());
  return (input - kept.masked_fill(empty, 0)).exp();
}

// The op for complex numbers, over the largest finite real part.
Tensor complex_logsumexp(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
  const Reduction plan = plan_reduction("logsumexp", input, dim, keepdim);
  if (input.numel() == 0) {
    const Tensor result = empty_tensor(plan.shape, input.dtype());
    fill_elements(result, -std::numeric_limits<double>::infinity());
    return result;
  }
  Tensor largest = amax(input.real(), dim, true);
  largest = where(isfinite(largest), largest, 0);
  const Tensor sum = (input - largest).exp().sum(dim, true).log() + largest;
  return sum.reshape(IntList(plan.shape));
}

struct Logsumexp {
  static constexpr auto schema =
      "logsumexp(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc =
      "The logarithm of the sum of exponentials, without overflow. Integers give f32.";
  static constexpr auto saves = "input, result";
  static Tensor forward(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
    if (is_complex(input.dtype())) return complex_logsumexp(input, dim, keepdim);
    const Tensor source = is_floating(input.dtype()) ? input : contiguous_as(input, f32);
    const Reduction plan = plan_reduction("logsumexp", source, dim, keepdim);
    const Tensor result = empty_tensor(plan.shape, source.dtype());
    const auto run = [&](auto zero) {
      using T = decltype(zero);
      using Kernel = LogSumKernel<T>;
      T* to = kernel::elements<T>(result);
      kernel::reduce<Kernel>(source, plan, [=](int64_t at, const typename Kernel::Total& total) {
        const bool finite = total.largest - total.largest == 0;
        to[at] = finite ? static_cast<T>(static_cast<double>(total.largest) + ::log(total.sum))
                        : total.largest;
      });
    };
    kernel::visit<floating_dtypes>(source.dtype(), run);
    return result;
  }
  static Tensor backward(ContextOf<Logsumexp>& c, const Tensor& g) {
    const Tensor& input = c["input"_arg];
    const auto dim = c["dim"_arg];
    const bool keepdim = c["keepdim"_arg];
    return keep_dimensions("logsumexp", g, input, dim, keepdim) *
           conjugate(shares(input, dim, keepdim, c.result()));
  }
  static Tensor jvp(ContextOf<Logsumexp>& c, TensorList tangents) {
    const auto dim = c["dim"_arg];
    const bool keepdim = c["keepdim"_arg];
    return (tangents[0] * shares(c["input"_arg], dim, keepdim, c.result())).sum(dim, keepdim);
  }
};

}  // namespace

TENON_OP(Logsumexp)
