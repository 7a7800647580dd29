#include "opencl/depthwise.hpp"

namespace tenon_opencl {

namespace {

constexpr size_t kDepthwiseGroup = 8;

// A work item has a vector of results along the last dimension, or one weight.
std::string depthwise_source(DType) {
  return R"(
typedef struct {
  ulong samples;
  int channels, features, has_bias;
  int in[3], out[3], kernel_size[3], stride[3], padding[3], dilation[3];
} Depthwise;

// `count` elements of a row of n: from, from + step, ...; 0 outside of it, and in the lanes behind.
static VT line(__global const T* row, int from, int step, int n, int count) {
  if (step == 1 && count == V && from >= 0 && from + V <= n) return LOAD(0, row + from);
  T t[V];
  for (int k = 0; k < V; ++k) {
    const int i = from + k * step;
    t[k] = k < count && i >= 0 && i < n ? row[i] : (T)0;
  }
  return LOAD(0, t);
}
// Elements at p / step of a row of n, for p = from, from + 1, ... that step divides; 0 elsewhere.
static VT spread(__global const T* row, int from, int step, int n) {
  if (step == 1) return line(row, from, 1, n, V);
  T t[V];
  for (int k = 0; k < V; ++k) {
    const int p = from + k, i = p / step;
    t[k] = p >= 0 && i * step == p && i < n ? row[i] : (T)0;
  }
  return LOAD(0, t);
}
static void put(__global T* row, int from, int n, VT value) {
  if (from + V <= n) {
    STORE(value, 0, row + from);
    return;
  }
  T t[V];
  STORE(value, 0, t);
  for (int k = 0; from + k < n; ++k) row[from + k] = t[k];
}
// A line of V elements of planes of this size: its place, and the number of the plane.
static ulong place_of(const int* size, ulong id, int* at) {
  const int runs = (size[2] + V - 1) / V;
  at[2] = (int)(id % runs) * V;
  id /= runs;
  at[1] = (int)(id % size[1]);
  id /= size[1];
  at[0] = (int)(id % size[0]);
  return id / size[0];
}

__kernel void convolve(__global const T* a, __global const T* w, __global const T* bias, __global T* r, Depthwise d) {
  int at[3];
  const ulong plane = place_of(d.out, get_global_id(0), at);
  if (plane >= d.samples * d.features) return;
  const int feature = (int)(plane % d.features), channel = feature / (d.features / d.channels);
  a += (plane / d.features * d.channels + channel) * d.in[0] * d.in[1] * d.in[2];
  w += (ulong)feature * d.kernel_size[0] * d.kernel_size[1] * d.kernel_size[2];
  VT sum = (VT)(0);
  for (int z = 0; z < d.kernel_size[0]; ++z) {
    const int iz = at[0] * d.stride[0] - d.padding[0] + z * d.dilation[0];
    for (int y = 0; y < d.kernel_size[1]; ++y, w += d.kernel_size[2]) {
      const int iy = at[1] * d.stride[1] - d.padding[1] + y * d.dilation[1];
      const int n = iz < 0 || iz >= d.in[0] || iy < 0 || iy >= d.in[1] ? 0 : d.in[2];
      __global const T* row = a + (n == 0 ? 0 : ((ulong)iz * d.in[1] + iy) * d.in[2]);
      for (int x = 0; x < d.kernel_size[2]; ++x) {
        const int ix = at[2] * d.stride[2] - d.padding[2] + x * d.dilation[2];
        sum = fma(line(row, ix, d.stride[2], n, V), (VT)(w[x]), sum);
      }
    }
  }
  if (d.has_bias) sum += (VT)(bias[feature]);
  put(r + (plane * d.out[0] + at[0]) * d.out[1] * d.out[2] + (ulong)at[1] * d.out[2], at[2], d.out[2], sum);
}
__kernel void input_gradient(__global const T* g, __global const T* weight, __global T* r, Depthwise d) {
  int at[3];
  const ulong plane = place_of(d.in, get_global_id(0), at);
  if (plane >= d.samples * d.channels) return;
  const int each = d.features / d.channels, channel = (int)(plane % d.channels);
  const ulong size = (ulong)d.kernel_size[0] * d.kernel_size[1] * d.kernel_size[2];
  VT sum = (VT)(0);
  for (int m = 0; m < each; ++m) {
    const ulong feature = (ulong)channel * each + m;
    __global const T* w = weight + feature * size;
    __global const T* from = g + (plane / d.channels * d.features + feature) * d.out[0] * d.out[1] * d.out[2];
    for (int z = 0; z < d.kernel_size[0]; ++z) {
      const int pz = at[0] + d.padding[0] - z * d.dilation[0], oz = pz / d.stride[0];
      for (int y = 0; y < d.kernel_size[1]; ++y, w += d.kernel_size[2]) {
        const int py = at[1] + d.padding[1] - y * d.dilation[1], oy = py / d.stride[1];
        if (pz < 0 || oz * d.stride[0] != pz || oz >= d.out[0]) continue;
        if (py < 0 || oy * d.stride[1] != py || oy >= d.out[1]) continue;
        __global const T* row = from + ((ulong)oz * d.out[1] + oy) * d.out[2];
        for (int x = 0; x < d.kernel_size[2]; ++x) {
          const int px = at[2] + d.padding[2] - x * d.dilation[2];
          sum = fma(spread(row, px, d.stride[2], d.out[2]), (VT)(w[x]), sum);
        }
      }
    }
  }
  put(r + (plane * d.in[0] + at[0]) * d.in[1] * d.in[2] + (ulong)at[1] * d.in[2], at[2], d.in[2], sum);
}
__kernel void weight_gradient(__global const T* a, __global const T* g, __global T* r, Depthwise d) {
  const ulong id = get_global_id(0);
  ulong rest = id;
  int k[3];
  for (int i = 2; i >= 0; --i) {
    k[i] = (int)(rest % d.kernel_size[i]);
    rest /= d.kernel_size[i];
  }
  if (rest >= d.features) return;
  const ulong feature = rest, channel = feature / (d.features / d.channels);
  WIDE total = 0;
  for (ulong sample = 0; sample < d.samples; ++sample) {
    __global const T* from = a + (sample * d.channels + channel) * d.in[0] * d.in[1] * d.in[2];
    __global const T* by = g + (sample * d.features + feature) * d.out[0] * d.out[1] * d.out[2];
    for (int oz = 0; oz < d.out[0]; ++oz) {
      const int iz = oz * d.stride[0] - d.padding[0] + k[0] * d.dilation[0];
      for (int oy = 0; oy < d.out[1]; ++oy, by += d.out[2]) {
        const int iy = oy * d.stride[1] - d.padding[1] + k[1] * d.dilation[1];
        if (iz < 0 || iz >= d.in[0] || iy < 0 || iy >= d.in[1]) continue;
        __global const T* row = from + ((ulong)iz * d.in[1] + iy) * d.in[2];
        VT sum = (VT)(0);
        for (int ox = 0; ox < d.out[2]; ox += V) {
          const int count = min(V, d.out[2] - ox), ix = ox * d.stride[2] - d.padding[2] + k[2] * d.dilation[2];
          sum = fma(line(by, ox, 1, d.out[2], count), line(row, ix, d.stride[2], d.in[2], count), sum);
        }
        T lanes[V];
        STORE(sum, 0, lanes);
        for (int l = 0; l < V; ++l) total += lanes[l];
      }
    }
  }
  r[id] = (T)total;
}
)";
}
constexpr Source kDepthwise{"depthwise", depthwise_source};

// As kernels get it.
struct DepthwiseArgument {
  cl_ulong samples;
  cl_int channels, features, has_bias;
  cl_int in[3], out[3], kernel_size[3], stride[3], padding[3], dilation[3];

  DepthwiseArgument(const nn::Convolution& k, bool biased)
      : samples(number(k.batch)),
        channels(static_cast<cl_int>(k.channels)),
        features(static_cast<cl_int>(k.features)),
        has_bias(biased) {
    const auto set = [](cl_int(&to)[3], const int64_t* from) {
      for (int i = 0; i < 3; ++i) to[i] = static_cast<cl_int>(from[i]);
    };
    set(in, k.patches.in);
    set(out, k.patches.out);
    set(kernel_size, k.patches.kernel);
    set(stride, k.patches.stride);
    set(padding, k.patches.padding);
    set(dilation, k.patches.dilation);
  }
};

template <class... Memories>
void run(const char* kernel, int64_t items, const Tensor& like, const DepthwiseArgument& argument,
         const Memories&... memories) {
  instance_of(like).run({&kDepthwise, kernel, like.dtype()}, whole_groups(items, kDepthwiseGroup),
                        kDepthwiseGroup, memories..., argument);
}
// Work items for all lines of planes of a size.
int64_t lines_of(const Tensor& like, int64_t planes, const int64_t* size) {
  const int64_t lanes = instance_of(like).lanes(like.dtype());
  return planes * size[0] * size[1] * ((size[2] + lanes - 1) / lanes);
}

}  // namespace

void convolve_depthwise(const nn::Convolution& k, const Tensor& input, const Tensor& weight,
                        const Tensor& bias, const Tensor& result) {
  run("convolve", lines_of(input, k.batch * k.features, k.patches.out), input,
      DepthwiseArgument(k, bias.defined()), memory_of(input), memory_of(weight),
      memory_of(bias.defined() ? bias : weight), memory_of(result));
}

void depthwise_input_gradient(const nn::Convolution& k, const Tensor& weight,
                              const Tensor& grad_output, const Tensor& result) {
  run("input_gradient", lines_of(weight, k.batch * k.channels, k.patches.in), weight,
      DepthwiseArgument(k, false), memory_of(grad_output), memory_of(weight), memory_of(result));
}

void depthwise_weight_gradient(const nn::Convolution& k, const Tensor& input,
                               const Tensor& grad_output, const Tensor& result) {
  run("weight_gradient", result.numel(), input, DepthwiseArgument(k, false), memory_of(input),
      memory_of(grad_output), memory_of(result));
}

}  // namespace tenon_opencl
