// Convolutions as products with the patches of the input, which are written as panels (products.hpp): no
// matrix of patches is made but for the gradient of the input. Samples are taken together as far as the
// panels stay within kMostElements. Groups of one channel have kernels without products (depthwise.hpp).
#include "shared_ops/convolution.hpp"

#include <algorithm>

#include "opencl/copies.hpp"
#include "opencl/depthwise.hpp"
#include "opencl/products.hpp"

namespace tenon_opencl {

namespace {

using tenon::Argument;
using tenon::Results;

constexpr int64_t kMostElements = int64_t{1} << 23;
constexpr size_t kPatchGroup = 16;

std::string patch_source(DType) {
  return R"(
typedef struct {
  ulong samples, depth, positions, image_step;
  int channels, in[3], out[3], kernel_size[3], stride[3], padding[3], dilation[3];
} Patches;
#define PANEL (2 * V)

// The input's element that row k of the patches has at a position; 0 in the padding.
static T element(__global const T* image, const Patches* d, const int* row, const int* position) {
  int at[3];
  for (int i = 0; i < 3; ++i) {
    at[i] = position[i] * d->stride[i] - d->padding[i] + row[i + 1] * d->dilation[i];
    if (at[i] < 0 || at[i] >= d->in[i]) return 0;
  }
  return image[((row[0] * (long)d->in[0] + at[0]) * d->in[1] + at[1]) * d->in[2] + at[2]];
}
// Channel, and place in the kernel, of a row.
static void row_of(const Patches* d, ulong k, int* row) {
  for (int i = 3; i > 0; --i) {
    row[i] = (int)(k % d->kernel_size[i - 1]);
    k /= d->kernel_size[i - 1];
  }
  row[0] = (int)k;
}
static void next_row(const Patches* d, int* row) {
  for (int i = 3; i > 0; --i) {
    if (++row[i] < d->kernel_size[i - 1]) return;
    row[i] = 0;
  }
  ++row[0];
}
static void position_of(const Patches* d, ulong j, int* position) {
  for (int i = 2; i >= 0; --i) {
    position[i] = (int)(j % d->out[i]);
    j /= d->out[i];
  }
}

// Panels of the patches [depth][samples * positions].
__kernel void unfold(__global const T* a, __global T* p, Patches d) {
  const ulong columns = d.samples * d.positions, panels = (columns + PANEL - 1) / PANEL;
  const ulong id = get_global_id(0), k = id % d.depth, panel = id / d.depth;
  if (panel >= panels) return;
  int row[4], position[3];
  row_of(&d, k, row);
  ulong j = panel * PANEL;
  ulong sample = j / d.positions, at = j % d.positions;
  position_of(&d, at, position);
  p += (panel * d.depth + k) * PANEL;
  for (int c = 0; c < PANEL; ++c, ++j) {
    p[c] = j < columns ? element(a + sample * d.image_step, &d, row, position) : (T)0;
    for (int i = 2; i >= 0; --i) {
      if (++position[i] < d.out[i]) break;
      position[i] = 0;
    }
    if (++at == d.positions) {
      at = 0;
      ++sample;
    }
  }
}
// Panels of their transpose [samples * positions][depth].
__kernel void unfold_turned(__global const T* a, __global T* p, Patches d) {
  const ulong lines = d.samples * d.positions, panels = (d.depth + PANEL - 1) / PANEL;
  const ulong id = get_global_id(0), line = id % lines, panel = id / lines;
  if (panel >= panels) return;
  int row[4], position[3];
  position_of(&d, line % d.positions, position);
  a += line / d.positions * d.image_step;
  ulong k = panel * PANEL;
  row_of(&d, k, row);
  p += (panel * lines + line) * PANEL;
  for (int c = 0; c < PANEL; ++c, ++k) {
    p[c] = k < d.depth ? element(a, &d, row, position) : (T)0;
    next_row(&d, row);
  }
}
// Each element of the input adds up its places in the patches [depth][samples * positions].
__kernel void fold(__global const T* columns, __global T* r, Patches d) {
  const ulong plane = (ulong)d.in[0] * d.in[1] * d.in[2], each = plane * d.channels;
  const ulong id = get_global_id(0), sample = id / each, line = d.samples * d.positions;
  if (sample >= d.samples) return;
  ulong rest = id % each;
  int at[3];
  for (int i = 2; i >= 0; --i) {
    at[i] = (int)(rest % d.in[i]) + d.padding[i];
    rest /= d.in[i];
  }
  const ulong channel = rest;
  T sum = 0;
  for (int z = 0; z < d.kernel_size[0]; ++z) {
    const int pz = at[0] - z * d.dilation[0], oz = pz / d.stride[0];
    if (pz < 0 || oz * d.stride[0] != pz || oz >= d.out[0]) continue;
    for (int y = 0; y < d.kernel_size[1]; ++y) {
      const int py = at[1] - y * d.dilation[1], oy = py / d.stride[1];
      if (py < 0 || oy * d.stride[1] != py || oy >= d.out[1]) continue;
      for (int x = 0; x < d.kernel_size[2]; ++x) {
        const int px = at[2] - x * d.dilation[2], ox = px / d.stride[2];
        if (px < 0 || ox * d.stride[2] != px || ox >= d.out[2]) continue;
        const ulong k = ((channel * d.kernel_size[0] + z) * d.kernel_size[1] + y) * d.kernel_size[2] + x;
        sum += columns[k * line + sample * d.positions + ((ulong)oz * d.out[1] + oy) * d.out[2] + ox];
      }
    }
  }
  r[sample * d.image_step + id % each] = sum;
}
)";
}
constexpr Source kPatches{"patches", patch_source};

// As kernels get it.
struct PatchArgument {
  cl_ulong samples, depth, positions, image_step;
  cl_int channels, in[3], out[3], kernel_size[3], stride[3], padding[3], dilation[3];
};

// The parts of a convolution that one product takes: samples [first, first + count) of a group.
struct Part {
  const nn::Convolution& k;
  int64_t first, count, group;

  int64_t columns() const { return count * k.positions(); }
  int64_t features() const { return k.group_features(); }
  int64_t of_input() const {
    return (first * k.channels + group * k.group_channels()) * k.input_plane();
  }
  int64_t of_output() const { return (first * k.features + group * features()) * k.positions(); }
  int64_t of_weight() const { return group * features() * k.depth(); }
  PatchArgument argument() const {
    PatchArgument d{number(count),
                    number(k.depth()),
                    number(k.positions()),
                    number(k.channels * k.input_plane()),
                    static_cast<cl_int>(k.group_channels()),
                    {},
                    {},
                    {},
                    {},
                    {},
                    {}};
    for (int i = 0; i < 3; ++i) {
      d.in[i] = static_cast<cl_int>(k.patches.in[i]);
      d.out[i] = static_cast<cl_int>(k.patches.out[i]);
      d.kernel_size[i] = static_cast<cl_int>(k.patches.kernel[i]);
      d.stride[i] = static_cast<cl_int>(k.patches.stride[i]);
      d.padding[i] = static_cast<cl_int>(k.patches.padding[i]);
      d.dilation[i] = static_cast<cl_int>(k.patches.dilation[i]);
    }
    return d;
  }
  // The result of a product [features][columns], in the output or its gradient.
  MatrixOperand output(char* data, int64_t width) const {
    return {data + of_output() * width, k.positions(), 1, 0, k.positions(),
            k.features * k.positions()};
  }
};

template <class Body>
void each_part(const nn::Convolution& k, const Body& body) {
  const int64_t sample = std::max<int64_t>(k.depth() * k.positions(), 1);
  const int64_t together =
      std::clamp<int64_t>(kMostElements / sample, 1, std::max<int64_t>(k.batch, 1));
  for (int64_t first = 0; first < k.batch; first += together) {
    for (int64_t group = 0; group < k.groups; ++group)
      body(Part{k, first, std::min(together, k.batch - first), group});
  }
}

char* bytes_of(const Tensor& tensor) { return static_cast<char*>(tenon::device::elements(tensor)); }
int64_t width_of(const Tensor& tensor) { return tenon::element_size(tensor.dtype()); }

bool fits_kernels(const Tensor& a, const Tensor& b, const Tensor& c) {
  for (const Tensor* tensor : {&b, &c}) {
    if (tensor->defined() &&
        (!is_floating(*tensor) || tensor->dtype() != a.dtype() || !together(*tensor, a)))
      return false;
  }
  return is_floating(a);
}

struct OnDevice {
  static Tensor convolve(const nn::Convolution& k, const Tensor& input, const Tensor& weight,
                         const Tensor& bias) {
    const Tensor result = empty_like(input, IntList(k.output_shape()));
    if (result.numel() == 0) return result;
    const Tensor x = dense(input), w = dense(weight), b = bias.defined() ? dense(bias) : bias;
    if (is_depthwise(k)) {
      convolve_depthwise(k, x, w, b, result);
      return result;
    }
    const int64_t width = width_of(input);
    Instance& device = instance_of(input);
    each_part(k, [&](const Part& part) {
      const int64_t size = panel_elements(device, x.dtype(), k.depth(), part.columns());
      const Tensor panels = empty_like(input, IntList(&size, 1));
      const int64_t items = size / panel_columns(device, x.dtype());
      device.run({&kPatches, "unfold", x.dtype()}, whole_groups(items, kPatchGroup), kPatchGroup,
                 Memory{bytes_of(x) + part.of_input() * width}, memory_of(panels), part.argument());
      MatrixOperand added;
      if (b.defined()) added = {bytes_of(b) + part.group * part.features() * width, 1, 0, 0};
      multiply_panels(input, {part.features(), part.columns(), k.depth(), 1},
                      {bytes_of(w) + part.of_weight() * width, k.depth(), 1, 0}, panels, true,
                      added, b.defined() ? 1 : 0, 1, part.output(bytes_of(result), width));
    });
    return result;
  }

  static Tensor input_gradient(const nn::Convolution& k, const Tensor& weight,
                               const Tensor& grad_output) {
    const IntList shape(k.input_shape());
    if (grad_output.numel() == 0) return zeros_beside(weight, shape, weight.dtype());
    const Tensor result = empty_like(weight, shape);
    if (result.numel() == 0) return result;
    const Tensor w = dense(weight), go = dense(grad_output);
    if (is_depthwise(k)) {
      depthwise_input_gradient(k, w, go, result);
      return result;
    }
    const int64_t width = width_of(weight);
    Instance& device = instance_of(weight);
    each_part(k, [&](const Part& part) {
      const int64_t columns = part.columns(), size = k.depth() * columns;
      const Tensor panels =
          pack_panels(weight, part.output(bytes_of(go), width), part.features(), columns, 1);
      const Tensor patches = empty_like(weight, IntList(&size, 1));
      multiply_panels(weight, {k.depth(), columns, part.features(), 1},
                      {bytes_of(w) + part.of_weight() * width, 1, k.depth(), 0}, panels, true, {},
                      0, 1, {bytes_of(patches), columns, 1, 0});
      const int64_t items = part.count * k.group_channels() * k.input_plane();
      device.run({&kPatches, "fold", w.dtype()}, whole_groups(items, kGroup), kGroup,
                 memory_of(patches), Memory{bytes_of(result) + part.of_input() * width},
                 part.argument());
    });
    return result;
  }

  static Tensor weight_gradient(const nn::Convolution& k, const Tensor& input,
                                const Tensor& grad_output, IntList weight_size) {
    if (input.numel() == 0 || grad_output.numel() == 0)
      return zeros_beside(input, weight_size, input.dtype());
    const Tensor result = empty_like(input, weight_size);
    if (result.numel() == 0) return result;
    const Tensor x = dense(input), go = dense(grad_output);
    if (is_depthwise(k)) {
      depthwise_weight_gradient(k, x, go, result);
      return result;
    }
    const int64_t width = width_of(input), positions = k.positions();
    Instance& device = instance_of(input);
    each_part(k, [&](const Part& part) {
      const int64_t columns = part.columns(), features = part.features();
      // Features first, so that a row follows the patches of all samples.
      const int64_t shape[] = {features, part.count, positions},
                    strides[] = {positions, k.features * positions, 1};
      const Tensor rows = contiguous_copy(view(go, {shape, 3}, {strides, 3}, part.of_output()));
      const int64_t size = panel_elements(device, x.dtype(), columns, k.depth());
      const Tensor panels = empty_like(input, IntList(&size, 1));
      const int64_t items = size / panel_columns(device, x.dtype());
      device.run({&kPatches, "unfold_turned", x.dtype()}, whole_groups(items, kPatchGroup),
                 kPatchGroup, Memory{bytes_of(x) + part.of_input() * width}, memory_of(panels),
                 part.argument());
      const MatrixOperand to{bytes_of(result) + part.of_weight() * width, k.depth(), 1, 0};
      multiply_panels(input, {features, k.depth(), columns, 1}, {bytes_of(rows), columns, 1, 0},
                      panels, true, to, part.first == 0 ? 0 : 1, 1, to);
    });
    return result;
  }
};

template <int d>
struct Conv : nn::ConvDeclaration<d> {
  using nn::ConvDeclaration<d>::name;
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, const Tensor& weight, const Tensor& bias,
                         IntList stride, Argument padding, IntList dilation, int64_t groups) {
    if (!fits_kernels(input, weight, bias)) return tenon::not_implemented;
    return OnDevice::convolve(
        nn::conv(name, input, weight, bias, stride, padding, dilation, groups), input, weight,
        bias);
  }
};
template <int d>
struct ConvInput : nn::ConvInputDeclaration<d> {
  using nn::ConvInputDeclaration<d>::name;
  static constexpr auto types = "opencl";
  static Results forward(IntList input_size, const Tensor& weight, const Tensor& grad_output,
                         IntList stride, Argument padding, IntList dilation, int64_t groups) {
    if (!fits_kernels(weight, grad_output, Tensor())) return tenon::not_implemented;
    return OnDevice::input_gradient(
        nn::conv_input(name, input_size, weight, grad_output, stride, padding, dilation, groups),
        weight, grad_output);
  }
};
template <int d>
struct ConvWeight : nn::ConvWeightDeclaration<d> {
  using nn::ConvWeightDeclaration<d>::name;
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, IntList weight_size, const Tensor& grad_output,
                         IntList stride, Argument padding, IntList dilation, int64_t groups) {
    if (!fits_kernels(input, grad_output, Tensor())) return tenon::not_implemented;
    return OnDevice::weight_gradient(
        nn::conv_weight(name, input, weight_size, grad_output, stride, padding, dilation, groups),
        input, grad_output, weight_size);
  }
};

using Conv1 = Conv<1>;
using Conv2 = Conv<2>;
using Conv3 = Conv<3>;
using ConvInput1 = ConvInput<1>;
using ConvInput2 = ConvInput<2>;
using ConvInput3 = ConvInput<3>;
using ConvWeight1 = ConvWeight<1>;
using ConvWeight2 = ConvWeight<2>;
using ConvWeight3 = ConvWeight<3>;

}  // namespace

}  // namespace tenon_opencl

using namespace tenon_opencl;

TENON_OVERRIDE(Conv1)
TENON_OVERRIDE(Conv2)
TENON_OVERRIDE(Conv3)
TENON_OVERRIDE(ConvInput1)
TENON_OVERRIDE(ConvInput2)
TENON_OVERRIDE(ConvInput3)
TENON_OVERRIDE(ConvWeight1)
TENON_OVERRIDE(ConvWeight2)
TENON_OVERRIDE(ConvWeight3)
