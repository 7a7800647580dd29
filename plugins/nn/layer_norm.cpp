// layer_norm: rows normalized to mean 0 and variance 1, then scaled and shifted.
#include <algorithm>
#include <cmath>

#include <tenon/kernel/lanes.hpp>
#include <tenon/kernel/registers.hpp>

#include "common.hpp"

namespace {

using namespace nn;

template <class T>
using Lanes = kernel::Vector<T, kernel::register_bytes>;
template <class T>
constexpr int64_t lane_count = static_cast<int64_t>(sizeof(Lanes<T>) / sizeof(T));

template <bool Squares, class T, class V>
TENON_INLINE void add_about(V& lanes, const T* x, T middle) {
  V v;
  kernel::detail::load_vector(v, x);
  if constexpr (Squares) {
    v -= middle;
    lanes += v * v;
  } else {
    lanes += v;
  }
}
// The sum of the elements, or of their squared distances from `middle`.
template <bool Squares, int Bytes, class T>
TENON_INLINE T sum_about(const T* x, T middle, int64_t n) {
  using V = kernel::Vector<T, Bytes>;
  constexpr auto N = static_cast<int64_t>(sizeof(V) / sizeof(T));
  V a{}, b{}, c{}, d{};
  int64_t i = 0;
  for (; i + 4 * N <= n; i += 4 * N) {
    add_about<Squares>(a, x + i, middle);
    add_about<Squares>(b, x + i + N, middle);
    add_about<Squares>(c, x + i + 2 * N, middle);
    add_about<Squares>(d, x + i + 3 * N, middle);
  }
  for (; i + N <= n; i += N) add_about<Squares>(a, x + i, middle);
  T total = kernel::add_lanes<T, Bytes>((a + b) + (c + d));
  for (; i < n; ++i) total += Squares ? (x[i] - middle) * (x[i] - middle) : x[i];
  return total;
}

// One row after another; the row stays in the cache between the passes.
template <class T, int Bytes>
struct NormalizeRows {
  // The factor of a row whose squares overflow T: beside them eps is nothing.
  static T far_factor(const T* x, T middle, int64_t n) {
    const auto deviation = [&](int64_t i) { return static_cast<double>(x[i] - middle); };
    double largest = 0, sum = 0;
    for (int64_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(deviation(i)));
    for (int64_t i = 0; i < n; ++i) {
      const double ratio = deviation(i) / largest;
      sum += ratio * ratio;
    }
    return static_cast<T>(1 / (largest * std::sqrt(sum / static_cast<double>(n))));
  }

  // Rows whose sums are added beside each other: none waits for another one's last steps.
  static constexpr int64_t together = 8;

  TENON_INLINE static void run(const T* x, const T* weight, const T* bias, T* y, T* mean, T* rstd,
                               int64_t rows, int64_t n, T eps) {
    const int64_t step = n <= 4096 / together ? together : 1;
    for (int64_t r = 0; r < rows; r += step) {
      const int64_t count = std::min(step, rows - r);
      measure(x + r * n, mean + r, rstd + r, count, n, eps);
      for (int64_t k = r; k < r + count; ++k) {
        fetch(x + (k + step) * n, n);
        normalize(x + k * n, weight, bias, y + k * n, n, mean[k], rstd[k]);
      }
    }
  }

 private:
  // Rows of the next block come while this one is computed.
  TENON_INLINE static void fetch(const T* row, int64_t n) {
    for (int64_t i = 0; i < n; i += 64 / static_cast<int64_t>(sizeof(T)))
      __builtin_prefetch(row + i, 0, 3);
  }
  TENON_INLINE static void measure(const T* x, T* mean, T* rstd, int64_t count, int64_t n, T eps) {
    const T share = T{1} / static_cast<T>(n);
    // Divided, so that rows of one number have this number as their mean.
    for (int64_t k = 0; k < count; ++k)
      mean[k] = sum_about<false, Bytes>(x + k * n, T{0}, n) / static_cast<T>(n);
    for (int64_t k = 0; k < count; ++k)
      rstd[k] = sum_about<true, Bytes>(x + k * n, mean[k], n) * share + eps;
    for (int64_t k = 0; k < count; ++k) rstd[k] = T{1} / std::sqrt(rstd[k]);
    for (int64_t k = 0; k < count; ++k) {
      if (rstd[k] == 0) rstd[k] = far_factor(x + k * n, mean[k], n);
    }
  }
  TENON_INLINE static void normalize(const T* x, const T* weight, const T* bias, T* y, int64_t n,
                                     T middle, T factor) {
    if (weight != nullptr && bias != nullptr) {
      TENON_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - middle) * factor * weight[i] + bias[i];
    } else {
      for (int64_t i = 0; i < n; ++i) {
        y[i] = (x[i] - middle) * factor * (weight != nullptr ? weight[i] : T{1}) +
               (bias != nullptr ? bias[i] : T{0});
      }
    }
  }
};

template <class T>
struct NormalizeRowsOf {
  // As many lanes on the baseline as on v3, so that rounding adds up no further.
  template <int Bytes>
  using By = NormalizeRows<T, std::max(Bytes, kernel::register_bytes)>;
};

// The gradients of a block of rows; those of weight and bias are added to what is there.
template <class T, bool Weighted>
struct GradRows {
  TENON_INLINE static void run(const T* g, const T* x, const T* mean, const T* rstd,
                               const T* weight, T* to, T* to_weight, T* to_bias, int64_t rows,
                               int64_t n) {
    const T share = T{1} / static_cast<T>(n);
    for (int64_t r = 0; r < rows; ++r, g += n, x += n, to += n) {
      const T middle = mean[r], factor = rstd[r];
      T along_one, along_normal;
      take_row(g, x, middle, factor, weight, to_weight, to_bias, n, &along_one, &along_normal);
      along_one *= share;
      along_normal *= share;
      TENON_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) {
        const T u = Weighted ? g[i] * weight[i] : g[i], normal = (x[i] - middle) * factor;
        to[i] = factor * (u - along_one - normal * along_normal);
      }
    }
  }

 private:
  // The row's share of the gradients of weight and bias, and two sums of u = g * weight: of u, and
  // of u times the normalized row.
  TENON_INLINE static void take_row(const T* g, const T* x, T middle, T factor, const T* weight,
                                    T* to_weight, T* to_bias, int64_t n, T* along_one,
                                    T* along_normal) {
    constexpr int64_t N = lane_count<T>;
    Lanes<T> ones{}, normals{}, gradient, normal, u, sum;
    int64_t i = 0;
    for (; i + N <= n; i += N) {
      kernel::detail::load_vector(gradient, g + i);
      kernel::detail::load_vector(normal, x + i);
      normal = (normal - middle) * factor;
      u = gradient;
      if constexpr (Weighted) {
        kernel::detail::load_vector(u, weight + i);
        u *= gradient;
        kernel::detail::load_vector(sum, to_weight + i);
        sum += gradient * normal;
        __builtin_memcpy(to_weight + i, &sum, sizeof(sum));
      }
      kernel::detail::load_vector(sum, to_bias + i);
      sum += gradient;
      __builtin_memcpy(to_bias + i, &sum, sizeof(sum));
      ones += u;
      normals += u * normal;
    }
    T one = kernel::add_lanes<T, kernel::register_bytes>(ones),
      along = kernel::add_lanes<T, kernel::register_bytes>(normals);
    for (; i < n; ++i) {
      const T own = (x[i] - middle) * factor, weighted = Weighted ? g[i] * weight[i] : g[i];
      if constexpr (Weighted) to_weight[i] += g[i] * own;
      to_bias[i] += g[i];
      one += weighted;
      along += weighted * own;
    }
    *along_one = one;
    *along_normal = along;
  }
};

// The normalized dimensions as a size, checked against the input's last ones.
int64_t normalized_count(const Tensor& input, IntList shape) {
  const int64_t rank = input.dim();
  bool fits = !shape.empty() && shape.size() <= rank;
  int64_t count = 1;
  for (int64_t i = 0; fits && i < shape.size(); ++i) {
    fits = shape[i] == input.shape()[rank - shape.size() + i];
    count *= shape[i];
  }
  if (!fits) {
    throw tenon::ValueError("layer_norm(): normalized_shape " + shape_text(shape) +
                            " must be the last dimensions of 'input', whose shape is " +
                            shape_text(input));
  }
  return count;
}
void check_parameter(const char* name, const Tensor& parameter, IntList shape,
                     const Tensor& input) {
  if (!parameter.defined()) return;
  kernel::check_shape("layer_norm", name, parameter, shape);
  check_same_dtype("layer_norm", "input", input, name, parameter);
}

std::vector<int64_t> last_dims(int64_t count) {
  std::vector<int64_t> dims;
  for (int64_t i = 1; i <= count; ++i) dims.push_back(-i);
  return dims;
}
// Sums over the leading dimensions, down to the normalized shape.
Tensor sum_rows(const Tensor& tensor, int64_t normalized) {
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < tensor.dim() - normalized; ++i) dims.push_back(i);
  return dims.empty() ? tensor : tensor.sum(dims);
}

// The normalized input and its factor, by ops, for rules that must be differentiable themselves.
struct Normal {
  Tensor x, rstd;
  std::vector<int64_t> dims;
  Normal(const Tensor& input, int64_t normalized, double eps) : dims(last_dims(normalized)) {
    const Tensor centered = input - input.mean(dims, true);
    rstd = (centered.square().mean(dims, true) + eps).rsqrt();
    x = centered * rstd;
  }
  Tensor mean(const Tensor& tensor) const { return tensor.mean(dims, true); }
  // rstd * project(u) is the derivative of x along u; it is symmetric.
  Tensor project(const Tensor& u) const { return u - mean(u) - x * mean(u * x); }
  // The derivative along v of rstd * project(u), with respect to the input; symmetric in u and v.
  Tensor second(const Tensor& u, const Tensor& v) const {
    const Tensor along_u = mean(u * x), along_v = mean(v * x);
    const Tensor both = mean(u * v) - mean(u) * mean(v) - along_u * along_v;
    return -(rstd * rstd * (both * x + along_u * project(v) + along_v * project(u)));
  }
};

struct LayerNorm {
  static constexpr auto schema =
      "nn.functional.layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? "
      "bias=None, "
      "float eps=1e-5) -> Tensor";
  static constexpr auto doc =
      "input with mean 0 and variance 1 over its last dimensions, times weight plus bias.";
  static constexpr auto saves = "input, weight";

  static constexpr auto reads_elements = true;
  static Tensor forward(Context& c, const Tensor& input, IntList normalized_shape,
                        const Tensor& weight, const Tensor& bias, double eps) {
    check_floating("layer_norm", "input", input);
    const int64_t n = normalized_count(input, normalized_shape);
    check_parameter("weight", weight, normalized_shape, input);
    check_parameter("bias", bias, normalized_shape, input);
    const Tensor whole = dense(input);
    const Tensor weights = weight.defined() ? dense(weight) : weight,
                 biases = bias.defined() ? dense(bias) : bias;
    const int64_t rows = n == 0 ? 0 : input.numel() / n;
    Tensor result = tenon::empty_tensor(input.shape(), input.dtype());
    const Tensor mean = tenon::empty_tensor({rows}, input.dtype()),
                 rstd = tenon::empty_tensor({rows}, input.dtype());
    if (rows > 0) {
      visit_floating(input.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* x = whole.data<const T>();
        const T* w = weights.defined() ? weights.data<const T>() : nullptr;
        const T* b = biases.defined() ? biases.data<const T>() : nullptr;
        T *y = result.data<T>(), *means = mean.data<T>(), *rstds = rstd.data<T>();
        kernel::for_rows(rows, n, [&](int64_t begin, int64_t end) {
          kernel::run_by_registers<NormalizeRowsOf<T>::template By>(
              x + begin * n, w, b, y + begin * n, means + begin, rstds + begin, end - begin, n,
              static_cast<T>(eps));
        });
      });
    }
    c.save_for_backward({mean, rstd});
    return result;
  }

  static std::tuple<Tensor, Tensor, Tensor, Tensor> backward(ContextOf<LayerNorm>& c,
                                                             const Tensor& g) {
    const auto [mean, rstd] = statistics(c);
    auto [input, weight, bias] = tenon::nn::grad::layer_norm(
        g, c["input"_arg], mean, rstd, c["weight"_arg], c["normalized_shape"_arg], c["eps"_arg]);
    return {std::move(input), Tensor(),
            c.needs_input_grad("weight"_arg) ? std::move(weight) : Tensor(),
            c.needs_input_grad("bias"_arg) ? std::move(bias) : Tensor()};
  }

  static Tensor jvp(ContextOf<LayerNorm>& c, TensorList t) {
    const Tensor& weight = c["weight"_arg];
    const Normal normal(c["input"_arg], c["normalized_shape"_arg].size(), c["eps"_arg]);
    Tensor tangent;
    if (t[0].defined()) {
      tangent = normal.rstd * normal.project(t[0]);
      if (weight.defined()) tangent = tangent * weight;
    }
    if (t[2].defined()) tangent = plus(tangent, normal.x * t[2]);
    if (t[3].defined())
      tangent = tangent.defined() ? tangent + t[3] : t[3].expand(normal.x.shape());
    return tangent;
  }

 private:
  // Mean and factor of each row: what forward kept, or computed again where a device's kernel ran.
  static std::pair<Tensor, Tensor> statistics(ContextOf<LayerNorm>& c) {
    if (c.saved_count() > 0) return {c.saved(0), c.saved(1)};
    const Tensor& input = c["input"_arg];
    const tenon::NoGrad constants;
    const Tensor x = input.detach();
    const Normal normal(x, c["normalized_shape"_arg].size(), c["eps"_arg]);
    const int64_t rows = normal.rstd.numel();
    return {x.mean(normal.dims).reshape({rows}), normal.rstd.reshape({rows})};
  }
};

struct LayerNormGrad {
  static constexpr auto schema =
      "nn.grad.layer_norm(Tensor grad_output, Tensor input, Tensor mean, Tensor rstd, Tensor? "
      "weight, "
      "int[] normalized_shape, float eps) -> (Tensor, Tensor, Tensor)";
  // Its rules take mean and rstd for what they are, functions of input: differences cannot.
  static constexpr auto samples =
      R"([{"grad_output": {"shape": [2, 3]},
           "input": {"shape": [2, 3], "values": [1, 2, 3, 0, 2, 4], "requires_grad": false},
           "mean": {"values": [2, 2], "requires_grad": false},
           "rstd": {"values": [1.224744871391589, 0.6123724356957945], "requires_grad": false},
           "weight": {"shape": [3]}, "normalized_shape": [3], "eps": 0.0}])";
  static constexpr auto doc =
      "The gradients of layer_norm for input, weight and bias; mean and rstd are those of the "
      "input's rows.";
  static constexpr auto saves = "grad_output, input, weight";

  static std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& grad_output, const Tensor& input,
                                                    const Tensor& mean, const Tensor& rstd,
                                                    const Tensor& weight, IntList normalized_shape,
                                                    double) {
    check_floating("layer_norm", "input", input);
    check_same_dtype("layer_norm", "grad_output", grad_output, "input", input);
    const int64_t n = normalized_count(input, normalized_shape);
    const int64_t rows = n == 0 ? 0 : input.numel() / n;
    check_parameter("weight", weight, normalized_shape, input);
    if (!kernel::same_shape(grad_output.shape(), input.shape()) || mean.numel() != rows ||
        rstd.numel() != rows || mean.dtype() != input.dtype() || rstd.dtype() != input.dtype()) {
      throw tenon::ValueError(
          "layer_norm(): 'grad_output', 'mean' and 'rstd' do not fit 'input' of shape " +
          shape_text(input));
    }
    const Tensor g_whole = dense(grad_output), x_whole = dense(input), means = dense(mean),
                 rstds = dense(rstd);
    const Tensor weights = weight.defined() ? dense(weight) : weight;
    Tensor for_input = tenon::empty_tensor(input.shape(), input.dtype());
    Tensor for_weight = tenon::empty_tensor(normalized_shape, input.dtype());
    Tensor for_bias = tenon::empty_tensor(normalized_shape, input.dtype());
    tenon::fill_elements(for_weight, 0);
    tenon::fill_elements(for_bias, 0);
    if (rows == 0) return {std::move(for_input), std::move(for_weight), std::move(for_bias)};
    // A fixed number of blocks, whatever the threads, so that sums come out the same.
    const int64_t blocks = std::min<int64_t>(16, 1 + rows * n / 32768),
                  block = (rows + blocks - 1) / blocks;
    const Tensor scratch = tenon::empty_tensor({blocks, 2, n}, input.dtype());
    tenon::fill_elements(scratch, 0);
    visit_floating(input.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T *g = g_whole.data<const T>(), *x = x_whole.data<const T>();
      const T *m = means.data<const T>(), *s = rstds.data<const T>();
      const T* w = weights.defined() ? weights.data<const T>() : nullptr;
      T *to = for_input.data<T>(), *sums = scratch.data<T>();
      tenon::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const int64_t from = std::min(rows, k * block),
                        count = std::min(rows, from + block) - from;
          T* own = sums + k * 2 * n;
          const auto run = [&](auto rows_of) {
            kernel::run<decltype(rows_of)>(g + from * n, x + from * n, m + from, s + from, w,
                                           to + from * n, own, own + n, count, n);
          };
          // Without a weight its gradient is not needed; the sums stay zero.
          if (w != nullptr)
            run(GradRows<T, true>());
          else
            run(GradRows<T, false>());
        }
      });
      T *to_weight = for_weight.data<T>(), *to_bias = for_bias.data<T>();
      for (int64_t k = 0; k < blocks; ++k) {
        const T* own = sums + k * 2 * n;
        for (int64_t i = 0; i < n; ++i) {
          to_weight[i] += own[i];
          to_bias[i] += own[n + i];
        }
      }
    });
    return {std::move(for_input), std::move(for_weight), std::move(for_bias)};
  }

  // mean and rstd are functions of the input, so all of their gradient is in the input's.
  static std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> backward(ContextOf<LayerNormGrad>& c,
                                                                     const Tensor& v,
                                                                     const Tensor& v_weight,
                                                                     const Tensor& v_bias) {
    const Tensor &g = c["grad_output"_arg], &weight = c["weight"_arg];
    const int64_t normalized = c["normalized_shape"_arg].size();
    const Normal normal(c["input"_arg], normalized, c["eps"_arg]);
    const auto weighted = [&](const Tensor& tensor) {
      return weight.defined() ? tensor * weight : tensor;
    };
    Tensor grad_output, input, for_weight;
    if (c.needs_input_grad("grad_output"_arg)) {
      grad_output = weighted(normal.rstd * normal.project(v)) + v_bias;
      if (weight.defined()) grad_output = grad_output + v_weight * normal.x;
    }
    if (c.needs_input_grad("input"_arg)) {
      input = normal.second(weighted(g), v);
      if (weight.defined()) input = input + normal.rstd * normal.project(v_weight * g);
    }
    if (c.needs_input_grad("weight"_arg))
      for_weight = sum_rows(g * (normal.rstd * normal.project(v)), normalized);
    return {std::move(grad_output), std::move(input), Tensor(), Tensor(), std::move(for_weight)};
  }

  static std::tuple<Tensor, Tensor, Tensor> jvp(ContextOf<LayerNormGrad>& c, TensorList t) {
    const Tensor &g = c["grad_output"_arg], &weight = c["weight"_arg];
    const int64_t normalized = c["normalized_shape"_arg].size();
    const Normal normal(c["input"_arg], normalized, c["eps"_arg]);
    const auto weighted = [&](const Tensor& tensor) {
      return weight.defined() ? tensor * weight : tensor;
    };
    Tensor input, for_weight, for_bias;
    if (t[0].defined()) {
      input = normal.rstd * normal.project(weighted(t[0]));
      for_weight = sum_rows(t[0] * normal.x, normalized);
      for_bias = sum_rows(t[0], normalized);
    }
    if (t[1].defined()) {
      input = plus(input, normal.second(weighted(g), t[1]));
      for_weight = plus(for_weight, sum_rows(g * (normal.rstd * normal.project(t[1])), normalized));
    }
    if (t[4].defined()) input = plus(input, normal.rstd * normal.project(g * t[4]));
    if (!weight.defined()) for_weight = Tensor();
    return {std::move(input), std::move(for_weight), std::move(for_bias)};
  }
};

}  // namespace
TENON_OPS(LayerNorm, LayerNormGrad)
