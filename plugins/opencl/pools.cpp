// Pools of maxima and means, with their gradients: one work item for each window, or for each element
// that windows have.
#include <optional>
#include <tuple>

#include "opencl/copies.hpp"
#include "opencl/faults.hpp"
#include "shared_ops/average_pool.hpp"

namespace tenon_opencl {

namespace {

using tenon::Results;

std::string pool_source(DType) {
  return R"(
typedef struct {
  ulong planes;
  long divisor;  // of means; 0: elements of the window
  int in[3], out[3], size[3], stride[3], padding[3], dilation[3];
  int with_padding;
} Pool;
static ulong window_of(const Pool* d, ulong id, int* at) {
  for (int i = 2; i >= 0; --i) {
    at[i] = (int)(id % d->out[i]);
    id /= d->out[i];
  }
  return id;
}
// NaN is larger than every number, the last one stays; -1 for a window wholly in the padding.
__kernel void largest(__global const T* a, __global T* r, __global long* places, Pool d) {
  const ulong id = get_global_id(0);
  int at[3];
  const ulong plane = window_of(&d, id, at);
  if (plane >= d.planes) return;
  a += plane * d.in[0] * d.in[1] * d.in[2];
  T most = -INFINITY;
  long best = -1;
  for (int z = 0; z < d.size[0]; ++z) {
    const int iz = at[0] * d.stride[0] - d.padding[0] + z * d.dilation[0];
    if (iz < 0 || iz >= d.in[0]) continue;
    for (int y = 0; y < d.size[1]; ++y) {
      const int iy = at[1] * d.stride[1] - d.padding[1] + y * d.dilation[1];
      if (iy < 0 || iy >= d.in[1]) continue;
      for (int x = 0; x < d.size[2]; ++x) {
        const int ix = at[2] * d.stride[2] - d.padding[2] + x * d.dilation[2];
        if (ix < 0 || ix >= d.in[2]) continue;
        const long place = ((long)iz * d.in[1] + iy) * d.in[2] + ix;
        const T value = a[place];
        if (best < 0 || value > most || isnan(value)) {
          most = value;
          best = place;
        }
      }
    }
  }
  r[id] = most;
  places[id] = best;
}
// One plane for each work item, in the order of the windows.
__kernel void largest_gradient(__global const T* g, __global const long* places, __global T* r, ulong planes, ulong in,
                               ulong out, int code, __global Found* faults) {
  const ulong plane = get_global_id(0);
  if (plane >= planes) return;
  g += plane * out;
  places += plane * out;
  r += plane * in;
  for (ulong i = 0; i < in; ++i) r[i] = 0;
  for (ulong i = 0; i < out; ++i) {
    const long place = places[i];
    if (place >= 0 && place < (long)in)
      r[place] += g[i];
    else if (place != -1)
      note_fault(faults, code, place);
  }
}
// Where a window begins and ends along a dimension, cut to the input; the elements that count.
static int cut(const Pool* d, int i, int at, int* begin, int* end) {
  const int from = at * d->stride[i] - d->padding[i], to = min(from + d->size[i], d->in[i] + d->padding[i]);
  *begin = max(from, 0);
  *end = min(to, d->in[i]);
  return d->with_padding ? to - from : *end - *begin;
}
__kernel void mean(__global const T* a, __global T* r, Pool d) {
  const ulong id = get_global_id(0);
  int at[3], begin[3], end[3];
  long count = 1;
  const ulong plane = window_of(&d, id, at);
  if (plane >= d.planes) return;
  a += plane * d.in[0] * d.in[1] * d.in[2];
  for (int i = 0; i < 3; ++i) count *= cut(&d, i, at[i], &begin[i], &end[i]);
  T sum = 0;
  for (int z = begin[0]; z < end[0]; ++z) {
    for (int y = begin[1]; y < end[1]; ++y) {
      for (int x = begin[2]; x < end[2]; ++x) sum += a[((long)z * d.in[1] + y) * d.in[2] + x];
    }
  }
  r[id] = sum / (d.divisor ? d.divisor : count);
}
__kernel void mean_gradient(__global const T* g, __global T* r, Pool d) {
  const ulong id = get_global_id(0);
  ulong rest = id;
  int first[3], last[3];
  for (int i = 2; i >= 0; --i) {
    const int at = (int)(rest % d.in[i]) + d.padding[i];
    rest /= d.in[i];
    const int before = at - d.size[i] + 1;
    first[i] = before <= 0 ? 0 : (before + d.stride[i] - 1) / d.stride[i];
    last[i] = min(at / d.stride[i], d.out[i] - 1);
  }
  if (rest >= d.planes) return;
  g += rest * d.out[0] * d.out[1] * d.out[2];
  T sum = 0;
  int b, e;
  for (int z = first[0]; z <= last[0]; ++z) {
    const long nz = cut(&d, 0, z, &b, &e);
    for (int y = first[1]; y <= last[1]; ++y) {
      const long ny = nz * cut(&d, 1, y, &b, &e);
      for (int x = first[2]; x <= last[2]; ++x) {
        const long count = ny * cut(&d, 2, x, &b, &e);
        sum += g[((long)z * d.out[1] + y) * d.out[2] + x] / (d.divisor ? d.divisor : count);
      }
    }
  }
  r[id] = sum;
}
)";
}
constexpr Source kPools{"pools", pool_source};

// As kernels get it.
struct PoolArgument {
  cl_ulong planes;
  cl_long divisor = 0;
  cl_int in[3], out[3], size[3], stride[3], padding[3], dilation[3];
  cl_int with_padding = 0;

  PoolArgument(const nn::Windows& windows, int64_t count) : planes(number(count)) {
    for (int i = 0; i < 3; ++i) {
      in[i] = static_cast<cl_int>(windows.in[i]);
      out[i] = static_cast<cl_int>(windows.out[i]);
      size[i] = static_cast<cl_int>(windows.kernel[i]);
      stride[i] = static_cast<cl_int>(windows.stride[i]);
      padding[i] = static_cast<cl_int>(windows.padding[i]);
      dilation[i] = static_cast<cl_int>(windows.dilation[i]);
    }
  }
};

template <int d>
struct MaxPoolWithIndices {
  static constexpr auto schema = nn::family_text<d>(
      "nn.functional.max_pool{d}d_with_indices(Tensor input, int[{d}] kernel_size, int[{d}]? "
      "stride=None, int[{d}] padding=0, int[{d}] dilation=1, bool ceil_mode=False) -> (Tensor, "
      "Tensor indices)");
  static constexpr auto name = nn::family_text<d>("max_pool{d}d");
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                         IntList padding, IntList dilation, bool ceil_mode) {
    if (!is_floating(input)) return tenon::not_implemented;
    nn::check_pool_input(name, input, kernel_size.size());
    const nn::Windows windows(name, input.shape(), kernel_size, stride, padding, dilation,
                              ceil_mode);
    const nn::Shape shape = windows.output_shape(input.shape());
    const Tensor values = empty_like(input, IntList(shape)),
                 places = empty_like(input, IntList(shape), tenon::i64);
    if (values.numel() > 0) {
      const Tensor x = dense(input);
      const nn::Planes planes(input.shape(), windows.dimensions);
      instance_of(input).run(
          {&kPools, "largest", input.dtype()}, whole_groups(values.numel(), kGroup), kGroup,
          memory_of(x), memory_of(values), memory_of(places), PoolArgument(windows, planes.planes));
    }
    return std::tuple<Tensor, Tensor>(values, places);
  }
};

struct MaxPoolGradient {
  static constexpr auto schema =
      "nn.grad.max_pool(Tensor grad_output, Tensor indices, int[] input_size, int dimensions) -> "
      "Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const tenon::Call& call, const Tensor& grad_output, const Tensor& indices,
                         IntList input_size, int64_t dimensions) {
    if (!is_floating(grad_output) || !is_there(indices) || indices.dtype() != tenon::i64 ||
        !together(indices, grad_output) || indices.sizes() != grad_output.sizes() ||
        dimensions < 1 || dimensions > input_size.size() || input_size.size() != grad_output.dim())
      return tenon::not_implemented;
    for (int64_t i = 0; i < input_size.size() - dimensions; ++i)
      if (input_size[i] != grad_output.shape()[i]) return tenon::not_implemented;
    if (grad_output.numel() == 0) return zeros_beside(grad_output, input_size, grad_output.dtype());
    const Tensor result = empty_like(grad_output, input_size);
    const Tensor g = dense(grad_output), places = dense(indices);
    const nn::Planes in(input_size, dimensions), out(grad_output.shape(), dimensions);
    Instance& device = instance_of(g);
    constexpr size_t group = 8;
    const Faults::Watch watch(
        device, call,
        "max_pool(): position {} is outside of planes of " + std::to_string(in.size) + " elements");
    device.run({&kPools, "largest_gradient", g.dtype()}, whole_groups(in.planes, group), group,
               memory_of(g), memory_of(places), memory_of(result), number(in.planes),
               number(in.size), number(out.size), watch.code(), watch.memory());
    return result;
  }
};

struct Means {
  static Tensor average(const nn::AveragePool& pool, const Tensor& input) {
    const Tensor result = empty_like(input, IntList(pool.windows.output_shape(input.shape())));
    if (result.numel() == 0) return result;
    const Tensor x = dense(input);
    instance_of(input).run({&kPools, "mean", input.dtype()}, whole_groups(result.numel(), kGroup),
                           kGroup, memory_of(x), memory_of(result), argument(pool, input.shape()));
    return result;
  }
  static Tensor spread(const nn::AveragePool& pool, const Tensor& grad_output, IntList size) {
    const Tensor result = empty_like(grad_output, size);
    if (result.numel() == 0) return result;
    if (grad_output.numel() == 0) return zeros_beside(grad_output, size, grad_output.dtype());
    const Tensor g = dense(grad_output);
    instance_of(g).run({&kPools, "mean_gradient", g.dtype()}, whole_groups(result.numel(), kGroup),
                       kGroup, memory_of(g), memory_of(result), argument(pool, size));
    return result;
  }

 private:
  static PoolArgument argument(const nn::AveragePool& pool, IntList shape) {
    PoolArgument argument(pool.windows, nn::Planes(shape, pool.windows.dimensions).planes);
    argument.with_padding = pool.count_include_pad;
    argument.divisor = pool.divisor.value_or(0);
    return argument;
  }
};

template <int d>
struct AvgPool : nn::AvgPoolDeclaration<d> {
  using Rules = nn::AvgPoolRules<AvgPool<d>, Means>;
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                         IntList padding, bool ceil_mode, bool count_include_pad,
                         std::optional<int64_t> divisor_override) {
    if (!is_floating(input)) return tenon::not_implemented;
    return Rules::forward(input, kernel_size, stride, padding, ceil_mode, count_include_pad,
                          divisor_override);
  }
};
struct AvgPoolGradient {
  using Rules = nn::AvgPoolGradRules<AvgPoolGradient, Means>;
  static constexpr auto schema = Rules::schema;
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& grad_output, IntList input_size, IntList kernel_size,
                         std::optional<IntList> stride, IntList padding, bool ceil_mode,
                         bool count_include_pad, std::optional<int64_t> divisor_override) {
    if (!is_floating(grad_output)) return tenon::not_implemented;
    return Rules::forward(grad_output, input_size, kernel_size, stride, padding, ceil_mode,
                          count_include_pad, divisor_override);
  }
};

using MaxPool1 = MaxPoolWithIndices<1>;
using MaxPool2 = MaxPoolWithIndices<2>;
using MaxPool3 = MaxPoolWithIndices<3>;
using AvgPool1 = AvgPool<1>;
using AvgPool2 = AvgPool<2>;
using AvgPool3 = AvgPool<3>;

}  // namespace

}  // namespace tenon_opencl

using namespace tenon_opencl;

TENON_OVERRIDE(MaxPool1)
TENON_OVERRIDE(MaxPool2)
TENON_OVERRIDE(MaxPool3)
TENON_OVERRIDE(MaxPoolGradient)
TENON_OVERRIDE(AvgPool1)
TENON_OVERRIDE(AvgPool2)
TENON_OVERRIDE(AvgPool3)
TENON_OVERRIDE(AvgPoolGradient)
