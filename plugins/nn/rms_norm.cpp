// rms_norm: layer_norm without its mean.
#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/kernel/lanes.hpp>

#include "common.hpp"

namespace {

using namespace nn;

template <class T>
struct ScaleRows {
  // The factor of a row whose squares overflow T: beside them eps is nothing.
  static double far_factor(const T* x, int64_t n) {
    double largest = 0, sum = 0;
    for (int64_t i = 0; i < n; ++i)
      largest = std::max(largest, std::fabs(static_cast<double>(x[i])));
    if (std::isinf(largest)) return 0;
    for (int64_t i = 0; i < n; ++i) {
      const double ratio = static_cast<double>(x[i]) / largest;
      sum += ratio * ratio;
    }
    return 1 / (largest * std::sqrt(sum / static_cast<double>(n)));
  }

  // y = x * factor * weight, which may be null; `factors` are those of the rows.
  TENON_INLINE static void run(const T* x, const T* weight, T* y, T* factors, int64_t rows,
                               int64_t n, T eps) {
    for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
      const T squares = kernel::dot(x, x, n);
      if (__builtin_expect(std::isinf(squares), 0)) {
        const double factor = far_factor(x, n);
        factors[r] = static_cast<T>(factor);
        for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(static_cast<double>(x[i]) * factor);
      } else {
        const T factor = T{1} / std::sqrt(squares / static_cast<T>(n) + eps);
        factors[r] = factor;
        TENON_INDEPENDENT
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
      }
      if (weight == nullptr) continue;
      TENON_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) y[i] *= weight[i];
    }
  }
};

// With normal = x * factor and g the gradient times the weight:
//   to = (g - normal * mean(g * normal)) * factor, and sums += gradient * normal.
template <class T, bool Weighted>
struct ScaleGradRows {
  // The mean of a row whose products overflow T.
  static T far_mean(const T* g, const T* x, T factor, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += static_cast<double>(g[i]) * static_cast<double>(x[i] * factor);
    return static_cast<T>(sum / static_cast<double>(n));
  }

  TENON_INLINE static void run(const T* gradient, const T* x, const T* factors, const T* weight,
                               T* to, T* sums, int64_t rows, int64_t n) {
    const T share = T{1} / static_cast<T>(n);
    for (int64_t r = 0; r < rows; ++r, gradient += n, x += n, to += n) {
      const T factor = factors[r];
      if (Weighted) {
        TENON_INDEPENDENT
        for (int64_t i = 0; i < n; ++i) {
          to[i] = gradient[i] * weight[i];
          sums[i] += gradient[i] * (x[i] * factor);
        }
      }
      const T* const g = Weighted ? to : gradient;
      T mean = kernel::dot(g, x, n) * factor * share;
      if (__builtin_expect(!std::isfinite(mean), 0)) mean = far_mean(g, x, factor, n);
      TENON_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) to[i] = (g[i] - x[i] * factor * mean) * factor;
    }
  }
};

// The parts of rms_norm, made of ops.
struct Parts {
  Tensor normal, rstd;
  std::vector<int64_t> dims;
  Parts(const Tensor& input, int64_t count, double eps) : normal(input) {
    if (input.numel() == 0) return;
    for (int64_t i = input.dim() - count; i < input.dim(); ++i) dims.push_back(i);
    // Rows of large numbers are scaled down, so that their squares are finite: a constant for
    // gradients, as the result does not depend on it.
    const Tensor largest = input.detach().abs().amax(dims, true);
    const Tensor scale = tenon::where((largest > 1).logical_and(largest.isfinite()), largest, 1);
    const Tensor rows = input / scale;
    const Tensor mean = rows.square().mean(dims, true) + eps / scale / scale;
    normal = rows * mean.rsqrt();
    rstd = mean.rsqrt() / scale;
  }
  // The derivative of normal along u; it is symmetric.
  Tensor project(const Tensor& u) const {
    if (normal.numel() == 0) return u;
    return (u - normal * (normal * u).mean(dims, true)) * rstd;
  }
};

struct RmsNorm {
  static constexpr auto schema =
      "nn.functional.rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? "
      "eps=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "normalized_shape": [3], "weight": {"shape": [3]}},
          {"input": {"shape": [2, 2, 2]}, "normalized_shape": [2, 2], "eps": 0.1}])";
  static constexpr auto doc =
      "input divided by the root of the mean of its squares over its last dimensions, to which eps "
      "is added, times weight. eps is the distance from 1 to the next number of the dtype unless "
      "given (arXiv:1910.07467).";
  static constexpr auto saves = "input, weight";

  // eps, checked as all arguments are.
  static double check(const Tensor& input, IntList normalized_shape, const Tensor& weight,
                      std::optional<double> eps) {
    constexpr auto op = "rms_norm";
    check_floating(op, "input", input);
    const int64_t rank = input.dim(), count = normalized_shape.size();
    if (count < 1 || count > rank ||
        !kernel::same_shape(normalized_shape, {input.shape().end() - count, count})) {
      throw tenon::ValueError("rms_norm(): normalized_shape " + shape_text(normalized_shape) +
                              " must be the last dimensions of 'input', whose shape is " +
                              shape_text(input));
    }
    if (weight.defined()) {
      kernel::check_shape(op, "weight", weight, normalized_shape);
      check_same_dtype(op, "input", input, "weight", weight);
    }
    const double least = eps ? *eps
                         : input.dtype() == tenon::f32
                             ? static_cast<double>(std::numeric_limits<float>::epsilon())
                             : std::numeric_limits<double>::epsilon();
    if (!(least >= 0)) {
      throw tenon::ValueError("rms_norm(): eps must be 0 or more, got " +
                              tenon::Scalar(least).text());
    }
    return least;
  }

  static constexpr auto reads_elements = true;
  static Tensor forward(Context& c, const Tensor& input, IntList normalized_shape,
                        const Tensor& weight, std::optional<double> eps) {
    const double least = check(input, normalized_shape, weight, eps);
    Tensor result = tenon::empty_tensor(input.shape(), input.dtype());
    const int64_t n = kernel::count_elements(normalized_shape);
    const int64_t rows = n == 0 ? 0 : input.numel() / n;
    const Tensor factors = tenon::empty_tensor({rows}, input.dtype());
    const Tensor x = dense(input), w = weight.defined() ? dense(weight) : weight;
    visit_floating(input.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T *const from = kernel::elements<const T>(x), *const weights =
                                                              w.defined()
                                                                  ? kernel::elements<const T>(w)
                                                                  : nullptr;
      T *const to = kernel::elements<T>(result), *const kept = kernel::elements<T>(factors);
      kernel::for_rows(rows, n, [&](int64_t begin, int64_t end) {
        kernel::run<ScaleRows<T>>(from + begin * n, weights, to + begin * n, kept + begin,
                                  end - begin, n, static_cast<T>(least));
      });
    });
    c.save_for_backward({factors});
    return result;
  }

  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<RmsNorm>& c, const Tensor& g) {
    const Tensor input = c["input"_arg], weight = c["weight"_arg];
    const bool for_weight_too = weight.defined() && c.needs_input_grad("weight"_arg);
    if (is_plain(input) && is_plain(weight) && is_plain(g) && !c.create_graph()) {
      auto [for_input, for_weight] =
          gradients(g, input, c.saved(0), weight, c["normalized_shape"_arg]);
      return {std::move(for_input), Tensor(), for_weight_too ? std::move(for_weight) : Tensor()};
    }
    const Parts parts = parts_of(c, input, weight);
    const Tensor along = weight.defined() ? g * weight : g;
    return {parts.project(along), Tensor(),
            for_weight_too ? (g * parts.normal).sum_to_size(weight.shape()) : Tensor()};
  }

  static Tensor jvp(ContextOf<RmsNorm>& c, TensorList t) {
    const Tensor input = c["input"_arg], weight = c["weight"_arg];
    const Parts parts = parts_of(c, input, weight);
    Tensor tangent;
    if (t[0].defined()) {
      tangent = parts.project(t[0]);
      if (weight.defined()) tangent = tangent * weight;
    }
    return t[2].defined() ? plus(tangent, parts.normal * t[2]) : tangent;
  }

 private:
  static Parts parts_of(ContextOf<RmsNorm>& c, const Tensor& input, const Tensor& weight) {
    const IntList shape = c["normalized_shape"_arg];
    return {input, shape.size(), check(input, shape, weight, c["eps"_arg])};
  }
  static std::pair<Tensor, Tensor> gradients(const Tensor& grad_output, const Tensor& input,
                                             const Tensor& factors, const Tensor& weight,
                                             IntList normalized_shape) {
    const int64_t n = kernel::count_elements(normalized_shape), rows = factors.numel();
    Tensor for_input = tenon::empty_tensor(input.shape(), input.dtype()), for_weight;
    // A fixed number of blocks, whatever the threads, so that sums come out the same.
    const int64_t blocks = std::min<int64_t>(16, 1 + rows * n / 32768),
                  block = (rows + blocks - 1) / blocks;
    const Tensor scratch = tenon::empty_tensor({blocks, n}, input.dtype());
    tenon::fill_elements(scratch, 0);
    if (weight.defined()) {
      for_weight = tenon::empty_tensor(normalized_shape, input.dtype());
      tenon::fill_elements(for_weight, 0);
    }
    const Tensor g = dense(grad_output), x = dense(input),
                 w = weight.defined() ? dense(weight) : weight;
    visit_floating(input.dtype(), [&](auto zero) {
      using T = decltype(zero);
      T* const sums = kernel::elements<T>(scratch);
      tenon::parallel_for(0, rows == 0 ? 0 : blocks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const int64_t from = std::min(rows, k * block),
                        count = std::min(rows, from + block) - from;
          const auto run = [&](auto rows_of, const T* weights) {
            kernel::run<decltype(rows_of)>(
                kernel::elements<const T>(g) + from * n, kernel::elements<const T>(x) + from * n,
                kernel::elements<const T>(factors) + from, weights,
                kernel::elements<T>(for_input) + from * n, sums + k * n, count, n);
          };
          if (w.defined())
            run(ScaleGradRows<T, true>(), kernel::elements<const T>(w));
          else
            run(ScaleGradRows<T, false>(), static_cast<const T*>(nullptr));
        }
      });
      if (!for_weight.defined()) return;
      T* const to = kernel::elements<T>(for_weight);
      for (int64_t k = 0; k < blocks; ++k) {
        for (int64_t i = 0; i < n; ++i) to[i] += sums[k * n + i];
      }
    });
    return {std::move(for_input), std::move(for_weight)};
  }
};

}  // namespace
TENON_OP(RmsNorm)
