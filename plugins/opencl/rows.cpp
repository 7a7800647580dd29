// Ops of rows: softmax and its logarithm along any dimension, layer_norm and rms_norm, with their
// gradients. One work item takes a row, by vectors where its elements follow each other.
#include <tuple>

#include "opencl/copies.hpp"
#include "opencl/operands.hpp"

namespace tenon_opencl {

namespace {

using tenon::Results;

constexpr size_t kRowGroup = 8;

// Elements [i, i + V) of a row of n, `step` apart; those behind the end are `other`.
constexpr const char* kRow = R"(
static VT line(__global const T* x, ulong step, ulong i, ulong n, T other) {
  if (step == 1 && i + V <= n) return LOAD(0, x + i);
  T t[V];
  for (int k = 0; k < V; ++k) t[k] = i + k < n ? x[(i + k) * step] : other;
  return LOAD(0, t);
}
static void put(__global T* y, ulong step, ulong i, ulong n, VT value) {
  if (step == 1 && i + V <= n) {
    STORE(value, 0, y + i);
    return;
  }
  T t[V];
  STORE(value, 0, t);
  for (int k = 0; k < V && i + k < n; ++k) y[(i + k) * step] = t[k];
}
static T sum_of(VT lanes) {
  T t[V], sum = 0;
  STORE(lanes, 0, t);
  for (int k = 0; k < V; ++k) sum += t[k];
  return sum;
}
)";

std::string softmax_source(DType) {
  return std::string(kRow) + R"(
#define LARGER(x, y) ((isnan(x) | isnan(y)) ? (VT)(NAN) : fmax(x, y))
static T largest_of(VT lanes) {
  T t[V];
  STORE(lanes, 0, t);
  T most = t[0];
  for (int k = 1; k < V; ++k) most = isnan(most) || isnan(t[k]) ? (T)NAN : fmax(most, t[k]);
  return most;
}
// Rows of n elements `step` apart: row i begins at i / step * n * step + i % step.
__kernel void softmax(__global const T* a, __global T* r, ulong rows, ulong n, ulong step, int as_log) {
  const ulong row = get_global_id(0);
  if (row >= rows) return;
  const ulong at = row / step * n * step + row % step;
  __global const T* x = a + at;
  __global T* y = r + at;
  VT most = (VT)(-INFINITY), sum = (VT)(0);
  for (ulong i = 0; i < n; i += V) most = LARGER(most, line(x, step, i, n, -INFINITY));
  const T shift = largest_of(most);
  for (ulong i = 0; i < n; i += V) {
    const VT power = exp(line(x, step, i, n, -INFINITY) - shift);
    sum += power;
    if (!as_log) put(y, step, i, n, power);
  }
  // Lanes behind the end have added exp(-infinity), which is 0, but beside an infinite row.
  const T total = sum_of(sum);
  const T log_total = log(total);
  for (ulong i = 0; i < n; i += V) {
    if (as_log)
      put(y, step, i, n, (line(x, step, i, n, 0) - shift) - log_total);
    else
      put(y, step, i, n, line(y, step, i, n, 0) / total);
  }
}
__kernel void softmax_gradient(__global const T* g, __global const T* y, __global T* r, ulong rows, ulong n, ulong step,
                               int as_log) {
  const ulong row = get_global_id(0);
  if (row >= rows) return;
  const ulong at = row / step * n * step + row % step;
  g += at;
  y += at;
  r += at;
  VT sum = (VT)(0);
  for (ulong i = 0; i < n; i += V) {
    const VT x = line(g, step, i, n, 0);
    sum += as_log ? x : x * line(y, step, i, n, 0);
  }
  const T total = sum_of(sum);
  for (ulong i = 0; i < n; i += V) {
    const VT x = line(g, step, i, n, 0), z = line(y, step, i, n, 0);
    put(r, step, i, n, as_log ? x - exp(z) * total : (x - total) * z);
  }
}
)";
}

std::string norm_source(DType) {
  return std::string(kRow) + R"(
#define WEIGHT(i) (has_weight ? line(weight, 1, i, n, 0) : (VT)(1))
// Statistics of rows into mean and rstd; by_squares: rms_norm, whose mean is 0.
__kernel void norm_rows(__global const T* a, __global const T* weight, int has_weight, __global const T* bias,
                        int has_bias, __global T* r, ulong rows, ulong n, T eps, int by_squares) {
  const ulong row = get_global_id(0);
  if (row >= rows) return;
  __global const T* x = a + row * n;
  VT sum = (VT)(0);
  T mean = 0, most = 0;
  if (!by_squares) {
    for (ulong i = 0; i < n; i += V) sum += line(x, 1, i, n, 0);
    mean = sum_of(sum) / n;
    sum = (VT)(0);
  }
  for (ulong i = 0; i < n; i += V) {
    const VT c = line(x, 1, i, n, mean) - mean;
    sum += c * c;
  }
  T factor = 1 / sqrt(sum_of(sum) / n + eps);
  if (factor == 0) {
    // Squares that overflow: beside them eps is nothing.
    for (ulong i = 0; i < n; ++i) most = fmax(most, fabs(x[i] - mean));
    T ratios = 0;
    for (ulong i = 0; i < n; ++i) {
      const T ratio = (x[i] - mean) / most;
      ratios += ratio * ratio;
    }
    factor = 1 / (most * sqrt(ratios / n));
  }
  for (ulong i = 0; i < n; i += V) {
    VT y = (line(x, 1, i, n, 0) - mean) * factor;
    if (has_weight) y *= line(weight, 1, i, n, 0);
    if (has_bias) y += line(bias, 1, i, n, 0);
    put(r + row * n, 1, i, n, y);
  }
}
// The gradient of layer_norm for its input.
__kernel void input_gradient(__global const T* g, __global const T* a, __global const T* means, __global const T* rstds,
                             __global const T* weight, int has_weight, __global T* r, ulong rows, ulong n) {
  const ulong row = get_global_id(0);
  if (row >= rows) return;
  g += row * n;
  a += row * n;
  const T mean = means[row], factor = rstds[row];
  VT ones = (VT)(0), normals = (VT)(0);
  for (ulong i = 0; i < n; i += V) {
    const VT u = line(g, 1, i, n, 0) * WEIGHT(i);
    ones += u;
    normals += u * ((line(a, 1, i, n, mean) - mean) * factor);
  }
  const T along_one = sum_of(ones) / n, along_normal = sum_of(normals) / n;
  for (ulong i = 0; i < n; i += V) {
    const VT u = line(g, 1, i, n, 0) * WEIGHT(i), normal = (line(a, 1, i, n, mean) - mean) * factor;
    put(r + row * n, 1, i, n, factor * (u - along_one - normal * along_normal));
  }
}
// Those for weight and bias, of some rows: r[part][2][n].
__kernel void weight_gradients(__global const T* g, __global const T* a, __global const T* means,
                               __global const T* rstds, __global T* r, ulong rows, ulong n, ulong part, ulong parts) {
  const ulong runs = (n + V - 1) / V, id = get_global_id(0), i = id % runs * V, p = id / runs;
  if (p >= parts) return;
  VT weights = (VT)(0), biases = (VT)(0);
  for (ulong row = p * part; row < min(rows, (p + 1) * part); ++row) {
    const VT x = line(g + row * n, 1, i, n, 0);
    biases += x;
    weights += x * ((line(a + row * n, 1, i, n, 0) - means[row]) * rstds[row]);
  }
  put(r + p * 2 * n, 1, i, n, weights);
  put(r + p * 2 * n + n, 1, i, n, biases);
}
)";
}

constexpr Source kSoftmax{"softmax", softmax_source}, kNorms{"norms", norm_source};

// Rows of a dimension: how many, of how many elements, how far apart these are.
struct Lines {
  int64_t rows = 1, length, step = 1;
  Lines(const Tensor& tensor, int64_t dim) : length(tensor.shape()[dim]) {
    for (int64_t d = 0; d < tensor.dim(); ++d) {
      if (d != dim) rows *= tensor.shape()[d];
      if (d > dim) step *= tensor.shape()[d];
    }
  }
};

Results softmax(const Tensor& input, int64_t dim, bool as_log) {
  const int64_t rank = input.dim(), at = dim < 0 ? dim + rank : dim;
  if (!is_floating(input) || at < 0 || at >= rank) return tenon::not_implemented;
  const Tensor result = empty_like(input, input.shape());
  if (input.numel() == 0) return result;
  const Tensor x = dense(input);
  const Lines lines(x, at);
  instance_of(input).run({&kSoftmax, "softmax", input.dtype()}, whole_groups(lines.rows, kRowGroup),
                         kRowGroup, memory_of(x), memory_of(result), number(lines.rows),
                         number(lines.length), number(lines.step), static_cast<cl_int>(as_log));
  return result;
}
struct Softmax {
  static constexpr auto schema = "nn.functional.softmax(Tensor input, int dim) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, int64_t dim) { return softmax(input, dim, false); }
};
struct LogSoftmax {
  static constexpr auto schema = "nn.functional.log_softmax(Tensor input, int dim) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, int64_t dim) { return softmax(input, dim, true); }
};

Results softmax_gradient(const Tensor& grad_output, const Tensor& output, int64_t dim,
                         bool as_log) {
  const int64_t rank = output.dim(), at = dim < 0 ? dim + rank : dim;
  if (!is_floating(output) || !is_floating(grad_output) || at < 0 || at >= rank ||
      grad_output.dtype() != output.dtype() || grad_output.sizes() != output.sizes() ||
      !together(grad_output, output))
    return tenon::not_implemented;
  const Tensor result = empty_like(output, output.shape());
  if (output.numel() == 0) return result;
  const Tensor g = dense(grad_output), y = dense(output);
  const Lines lines(y, at);
  instance_of(y).run({&kSoftmax, "softmax_gradient", y.dtype()},
                     whole_groups(lines.rows, kRowGroup), kRowGroup, memory_of(g), memory_of(y),
                     memory_of(result), number(lines.rows), number(lines.length),
                     number(lines.step), static_cast<cl_int>(as_log));
  return result;
}
struct SoftmaxGradient {
  static constexpr auto schema =
      "nn.grad.softmax(Tensor grad_output, Tensor output, int dim) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& grad_output, const Tensor& output, int64_t dim) {
    return softmax_gradient(grad_output, output, dim, false);
  }
};
struct LogSoftmaxGradient {
  static constexpr auto schema =
      "nn.grad.log_softmax(Tensor grad_output, Tensor output, int dim) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& grad_output, const Tensor& output, int64_t dim) {
    return softmax_gradient(grad_output, output, dim, true);
  }
};

// ---- norms ----

// Elements of a row of normalized dimensions; -1 where they are not the input's last ones, or a
// parameter does not fit.
int64_t row_length(const Tensor& input, IntList shape, const Tensor& weight, const Tensor& bias) {
  const int64_t rank = input.dim(), count = shape.size();
  if (!is_floating(input) || count < 1 || count > rank) return -1;
  int64_t length = 1;
  for (int64_t d = 0; d < count; ++d) {
    if (shape[d] != input.shape()[rank - count + d]) return -1;
    length *= shape[d];
  }
  for (const Tensor* parameter : {&weight, &bias}) {
    if (!parameter->defined()) continue;
    if (!is_floating(*parameter) || parameter->dtype() != input.dtype() ||
        parameter->sizes() != std::vector<int64_t>(shape.begin(), shape.end()) ||
        !together(*parameter, input))
      return -1;
  }
  return length;
}

Results normalized(const Tensor& input, IntList shape, const Tensor& weight, const Tensor& bias,
                   double eps, bool by_squares) {
  const int64_t n = row_length(input, shape, weight, bias);
  if (n < 0) return tenon::not_implemented;
  const Tensor result = empty_like(input, input.shape());
  if (input.numel() == 0) return result;
  const Tensor x = dense(input), w = weight.defined() ? dense(weight) : x,
               b = bias.defined() ? dense(bias) : x;
  with_floating(input.dtype(), [&](auto zero) {
    instance_of(input).run(
        {&kNorms, "norm_rows", input.dtype()}, whole_groups(input.numel() / n, kRowGroup),
        kRowGroup, memory_of(x), memory_of(w), static_cast<cl_int>(weight.defined()), memory_of(b),
        static_cast<cl_int>(bias.defined()), memory_of(result), number(input.numel() / n),
        number(n), static_cast<decltype(zero)>(eps), static_cast<cl_int>(by_squares));
  });
  return result;
}
struct LayerNorm {
  static constexpr auto schema =
      "nn.functional.layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? "
      "bias=None, float eps=1e-5) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, IntList shape, const Tensor& weight,
                         const Tensor& bias, double eps) {
    return normalized(input, shape, weight, bias, eps, false);
  }
};
struct RmsNorm {
  static constexpr auto schema =
      "nn.functional.rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? "
      "eps=None) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, IntList shape, const Tensor& weight,
                         std::optional<double> eps) {
    const double least = eps ? *eps : input.dtype() == tenon::f64 ? 0x1p-52 : 0x1p-23;
    if (!(least >= 0)) return tenon::not_implemented;
    return normalized(input, shape, weight, Tensor(), least, true);
  }
};

struct LayerNormGradient {
  static constexpr auto schema =
      "nn.grad.layer_norm(Tensor grad_output, Tensor input, Tensor mean, Tensor rstd, Tensor? "
      "weight, int[] normalized_shape, float eps) -> (Tensor, Tensor, Tensor)";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& grad_output, const Tensor& input, const Tensor& mean,
                         const Tensor& rstd, const Tensor& weight, IntList shape, double) {
    const int64_t n = row_length(input, shape, weight, Tensor());
    if (n <= 0 || input.numel() == 0) return tenon::not_implemented;
    const int64_t rows = input.numel() / n;
    for (const Tensor* tensor : {&grad_output, &mean, &rstd}) {
      if (!is_floating(*tensor) || tensor->dtype() != input.dtype() || !together(*tensor, input))
        return tenon::not_implemented;
    }
    if (grad_output.sizes() != input.sizes() || mean.numel() != rows || rstd.numel() != rows)
      return tenon::not_implemented;
    const Tensor g = dense(grad_output), x = dense(input), m = dense(mean), s = dense(rstd),
                 w = weight.defined() ? dense(weight) : x;
    const Tensor for_input = empty_like(input, input.shape());
    Instance& device = instance_of(input);
    const DType type = input.dtype();
    device.run({&kNorms, "input_gradient", type}, whole_groups(rows, kRowGroup), kRowGroup,
               memory_of(g), memory_of(x), memory_of(m), memory_of(s), memory_of(w),
               static_cast<cl_int>(weight.defined()), memory_of(for_input), number(rows),
               number(n));
    const int64_t most = 16, part = (rows + most - 1) / most, parts = (rows + part - 1) / part;
    const int64_t partial[] = {parts, 2, n};
    const Tensor sums = empty_like(input, {partial, 3});
    const int64_t lanes = device.lanes(type), items = (n + lanes - 1) / lanes * parts;
    device.run({&kNorms, "weight_gradients", type}, whole_groups(items, kRowGroup), kRowGroup,
               memory_of(g), memory_of(x), memory_of(m), memory_of(s), memory_of(sums),
               number(rows), number(n), number(part), number(parts));
    static const tenon::Op sum("sum");
    const int64_t first = 0;
    const auto both = sum.call<Tensor>(sums, IntList(&first, 1));
    std::vector<int64_t> strides(static_cast<size_t>(shape.size()));
    int64_t step = 1;
    for (int64_t d = shape.size(); d-- > 0; step *= shape[d])
      strides[static_cast<size_t>(d)] = step;
    return std::tuple<Tensor, Tensor, Tensor>(for_input, view(both, shape, list_of(strides), 0),
                                              view(both, shape, list_of(strides), n));
  }
};

}  // namespace

}  // namespace tenon_opencl

using namespace tenon_opencl;

TENON_OVERRIDE(Softmax)
TENON_OVERRIDE(LogSoftmax)
TENON_OVERRIDE(SoftmaxGradient)
TENON_OVERRIDE(LogSoftmaxGradient)
TENON_OVERRIDE(LayerNorm)
TENON_OVERRIDE(RmsNorm)
TENON_OVERRIDE(LayerNormGradient)
