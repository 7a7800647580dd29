// conv1d, conv2d and conv3d and their gradients: arguments and their checks,
// sizes, rules, declarations. Each of the three is differentiated through the other two.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <tenon/plugin.hpp>
#include <tenon/kernel/check.hpp>
#include <tenon/ops.hpp>

#include "shared_ops/convolution_ops.hpp"
#include "shared_ops/op_family.hpp"
#include "shared_ops/padding.hpp"
#include "shared_ops/patches.hpp"

namespace nn {

using tenon::Argument, tenon::ContextOf, tenon::DType, tenon::IntList, tenon::Tensor,
    tenon::TensorList;
using namespace tenon::literals;

namespace kernel = tenon::kernel;
using kernel::check_floating, kernel::check_same_dtype;
using kernel::Shape, kernel::shape_text;
using shared_ops::family_choice, shared_ops::family_text;

// The sizes of a convolution, the same for all three ops. As many spatial dimensions as `strides` has
// numbers; always three here, those in front being of size 1.
struct Convolution {
  const char* op;
  int64_t dimensions, batch, channels, features, groups;
  bool batched;
  Patches patches;

  Convolution(const char* op_name, DType dtype, IntList input, IntList weight, IntList strides,
              const Argument& given_padding, IntList dilations, int64_t group_count)
      : op(op_name),
        dimensions(strides.size()),
        groups(group_count),
        batched(input.size() == dimensions + 2) {
    check_floating(op, "input", dtype);
    if (input.size() != dimensions + 1 && input.size() != dimensions + 2) {
      refuse("'input' must have shape [N, C" + spatial_text(false) + "] or [C" +
             spatial_text(false) + "], got " + shape_text(input));
    }
    if (weight.size() != dimensions + 2) {
      refuse("'weight' must have shape [features, C / groups" + spatial_text(true) + "], got " +
             shape_text(weight));
    }
    const int64_t* size = input.data() + (batched ? 1 : 0);
    batch = batched ? input[0] : 1;
    channels = size[0];
    features = weight[0];
    const ConvolutionPadding padding(std::string(op) + "()", given_padding, dimensions);
    for (int64_t i = 0; i < dimensions; ++i) {
      const int d = static_cast<int>(3 - dimensions + i);
      patches.stride[d] = strides[i];
      patches.padding[d] = padding.before[i];
      patches.dilation[d] = dilations[i];
      patches.in[d] = size[1 + i];
      patches.kernel[d] = weight[2 + i];
      check_setting(op, "stride", strides[i], 1);
      check_setting(op, "dilation", dilations[i], 1);
      check_setting(op, "padding", padding.before[i], 0);
    }
    if (groups < 1 || channels % groups != 0 || features % groups != 0) {
      refuse("groups must divide the " + std::to_string(channels) + " channels and the " +
             std::to_string(features) + " features, got " + std::to_string(groups));
    }
    if (weight[1] != channels / groups) {
      refuse("'weight' of shape " + shape_text(weight) + " with groups=" + std::to_string(groups) +
             " takes " + std::to_string(weight[1] * groups) + " channels, but the input of shape " +
             shape_text(input) + " has " + std::to_string(channels));
    }
    for (int d = 0; d < 3; ++d) {
      if (patches.kernel[d] < 1)
        refuse("the kernel is empty: 'weight' has shape " + shape_text(weight));
      check_setting(op, kernel_name(d), patches.kernel[d], 1);
    }
    if (padding.same) pad_to_same();
    for (int d = static_cast<int>(3 - dimensions); d < 3; ++d) {
      const int64_t reach = patches.reach(d), padded = patches.padded(d);
      if (reach > padded) {
        refuse("the kernel reaches over " + std::to_string(reach) + unit_of(d) +
               " but the padded input of shape " + shape_text(input) + " has " +
               std::to_string(padded));
      }
    }
    patches.measure();
    patches.channels = channels / groups;
  }

  void pad_to_same() {
    for (int d = 0; d < 3; ++d) {
      if (patches.stride[d] != 1) {
        refuse("padding 'same' needs a stride of 1, got " + std::to_string(patches.stride[d]) +
               "; give the padding as numbers");
      }
      patches.padding[d] = (patches.reach(d) - 1) / 2;
      patches.further[d] = (patches.reach(d) - 1) % 2;
    }
  }
  [[noreturn]] void refuse(const std::string& text) const {
    throw tenon::ValueError(std::string(op) + "(): " + text);
  }
  std::string spatial_text(bool kernel) const {
    constexpr const char* names[] = {", D", ", H", ", W"};
    constexpr const char* kernels[] = {", kernel depth", ", kernel height", ", kernel width"};
    std::string text;
    for (int64_t d = 3 - dimensions; d < 3; ++d) text += (kernel ? kernels : names)[d];
    return text;
  }
  static const char* kernel_name(int d) {
    return d == 0 ? "the kernel depth" : d == 1 ? "the kernel height" : "the kernel width";
  }

  int64_t group_channels() const { return channels / groups; }
  int64_t group_features() const { return features / groups; }
  int64_t depth() const { return patches.depth(); }          // rows of the unfolded input
  int64_t positions() const { return patches.positions(); }  // its columns
  int64_t input_plane() const { return patches.plane(); }
  // A kernel of one pixel: the input is its own unfolding.
  bool is_pointwise() const {
    bool pointwise = true;
    for (int d = 0; d < 3; ++d) {
      pointwise =
          pointwise && patches.kernel[d] == 1 && patches.stride[d] == 1 && patches.padding[d] == 0;
    }
    return pointwise;
  }
  Shape input_shape() const { return shape_of(channels, patches.in); }
  Shape output_shape() const { return shape_of(features, patches.out); }
  Shape shape_of(int64_t planes, const int64_t* spatial) const {
    Shape shape;
    if (batched) shape.push(batch);
    shape.push(planes);
    for (int64_t d = 3 - dimensions; d < 3; ++d) shape.push(spatial[d]);
    return shape;
  }
  int64_t multiply_adds() const { return batch * features * depth() * positions(); }
  void check_output(const Tensor& grad_output) const {
    kernel::check_shape(op, "grad_output", grad_output, output_shape());
  }
};

// The ops of as many spatial dimensions, for each other's rules.
inline Tensor convolve(int64_t dimensions, const Tensor& input, const Tensor& weight,
                       IntList stride, const Argument& padding, IntList dilation, int64_t groups) {
  namespace functional = tenon::nn::functional;
  const Tensor none;
  switch (dimensions) {
    case 1:
      return functional::conv1d(input, weight, none, stride, padding, dilation, groups);
    case 2:
      return functional::conv2d(input, weight, none, stride, padding, dilation, groups);
    default:
      return functional::conv3d(input, weight, none, stride, padding, dilation, groups);
  }
}
inline Tensor for_input(int64_t dimensions, IntList size, const Tensor& weight,
                        const Tensor& grad_output, IntList stride, const Argument& padding,
                        IntList dilation, int64_t groups) {
  namespace functional = tenon::nn::functional;
  switch (dimensions) {
    case 1:
      return functional::conv1d_input(size, weight, grad_output, stride, padding, dilation, groups);
    case 2:
      return functional::conv2d_input(size, weight, grad_output, stride, padding, dilation, groups);
    default:
      return functional::conv3d_input(size, weight, grad_output, stride, padding, dilation, groups);
  }
}
inline Tensor for_weight(int64_t dimensions, const Tensor& input, IntList size,
                         const Tensor& grad_output, IntList stride, const Argument& padding,
                         IntList dilation, int64_t groups) {
  namespace functional = tenon::nn::functional;
  switch (dimensions) {
    case 1:
      return functional::conv1d_weight(input, size, grad_output, stride, padding, dilation, groups);
    case 2:
      return functional::conv2d_weight(input, size, grad_output, stride, padding, dilation, groups);
    default:
      return functional::conv3d_weight(input, size, grad_output, stride, padding, dilation, groups);
  }
}

// The last parameters of all three ops.
struct Settings {
  IntList stride, dilation;
  Argument padding;
  int64_t groups;
  template <class Op>
  explicit Settings(ContextOf<Op>& c)
      : stride(c["stride"_arg]),
        dilation(c["dilation"_arg]),
        padding(c["padding"_arg]),
        groups(c["groups"_arg]) {}
  int64_t dimensions() const { return stride.size(); }
  Tensor convolve(const Tensor& input, const Tensor& weight) const {
    return nn::convolve(dimensions(), input, weight, stride, padding, dilation, groups);
  }
  Tensor input(IntList size, const Tensor& weight, const Tensor& grad_output) const {
    return for_input(dimensions(), size, weight, grad_output, stride, padding, dilation, groups);
  }
  Tensor weight(const Tensor& input, IntList size, const Tensor& grad_output) const {
    return for_weight(dimensions(), input, size, grad_output, stride, padding, dilation, groups);
  }
};

inline void check_bias(const char* op, const Tensor& input, const Tensor& bias, int64_t features) {
  if (!bias.defined()) return;
  check_same_dtype(op, "input", input, "bias", bias);
  if (bias.dim() != 1 || bias.shape()[0] != features) {
    throw tenon::ValueError(std::string(op) + "(): 'bias' must have shape [" +
                            std::to_string(features) + "], got " + shape_text(bias));
  }
}
// A bias as a tensor that goes with an output of so many spatial dimensions.
inline Tensor along_features(const Tensor& bias, int64_t dimensions) {
  std::vector<int64_t> shape(static_cast<size_t>(dimensions) + 1, 1);
  shape[0] = bias.numel();
  return bias.reshape(shape);
}

// The three ops' rules and kernels, whatever their dimensions. A parameter `any`, as padding is, takes
// a gradient.
using Gradients = std::array<Tensor, 5>;

inline Convolution conv(const char* op, const Tensor& input, const Tensor& weight,
                        const Tensor& bias, IntList stride, const Argument& padding,
                        IntList dilation, int64_t groups) {
  const Convolution convolution(op, input.dtype(), input.shape(), weight.shape(), stride, padding,
                                dilation, groups);
  check_same_dtype(op, "input", input, "weight", weight);
  check_bias(op, input, bias, convolution.features);
  return convolution;
}
template <class Op>
Gradients conv_backward(ContextOf<Op>& c, const Tensor& g) {
  const Settings settings(c);
  return needed_gradients(
      c, "input"_arg = [&] { return settings.input(c["input"_arg].shape(), c["weight"_arg], g); },
      "weight"_arg = [&] { return settings.weight(c["input"_arg], c["weight"_arg].shape(), g); },
      "bias"_arg =
          [&] {
            std::vector<int64_t> dims;
            for (int64_t i = 0; i < g.dim(); ++i) {
              if (i != g.dim() - settings.dimensions() - 1) dims.push_back(i);
            }
            return g.sum(dims);
          });
}
template <class Op>
Tensor conv_jvp(const char* op, ContextOf<Op>& c, TensorList t) {
  const Settings settings(c);
  Tensor tangent;
  if (t[0].defined()) tangent = settings.convolve(t[0], c["weight"_arg]);
  if (t[1].defined()) {
    const Tensor part = settings.convolve(c["input"_arg], t[1]);
    tangent = tangent.defined() ? tangent + part : part;
  }
  if (t[2].defined()) {
    const Tensor shift = along_features(t[2], settings.dimensions());
    if (tangent.defined()) {
      tangent = tangent + shift;
    } else {
      const Convolution convolution(op, t[2].dtype(), c["input"_arg].shape(),
                                    c["weight"_arg].shape(), settings.stride, settings.padding,
                                    settings.dilation, settings.groups);
      tangent = shift.expand(IntList(convolution.output_shape()));
    }
  }
  return tangent;
}

inline Convolution conv_input(const char* op, IntList input_size, const Tensor& weight,
                              const Tensor& grad_output, IntList stride, const Argument& padding,
                              IntList dilation, int64_t groups) {
  const Convolution convolution(op, weight.dtype(), input_size, weight.shape(), stride, padding,
                                dilation, groups);
  check_same_dtype(op, "weight", weight, "grad_output", grad_output);
  convolution.check_output(grad_output);
  return convolution;
}
template <class Op>
Gradients conv_input_backward(ContextOf<Op>& c, const Tensor& v) {
  const Settings settings(c);
  return needed_gradients(
      c,
      "weight"_arg =
          [&] { return settings.weight(v, c["weight"_arg].shape(), c["grad_output"_arg]); },
      "grad_output"_arg = [&] { return settings.convolve(v, c["weight"_arg]); });
}

inline Convolution conv_weight(const char* op, const Tensor& input, IntList weight_size,
                               const Tensor& grad_output, IntList stride, const Argument& padding,
                               IntList dilation, int64_t groups) {
  const Convolution convolution(op, input.dtype(), input.shape(), weight_size, stride, padding,
                                dilation, groups);
  check_same_dtype(op, "input", input, "grad_output", grad_output);
  convolution.check_output(grad_output);
  return convolution;
}
template <class Op>
Gradients conv_weight_backward(ContextOf<Op>& c, const Tensor& v) {
  const Settings settings(c);
  return needed_gradients(
      c,
      "input"_arg = [&] { return settings.input(c["input"_arg].shape(), v, c["grad_output"_arg]); },
      "grad_output"_arg = [&] { return settings.convolve(c["input"_arg], v); });
}

// Rules that the ops of one kind share, whatever their dimensions. `Op` has its own schema, name,
// samples and document; `Kernels` is a provider's, with convolve, input_gradient and
// weight_gradient of a Convolution that was checked.
template <class Op, class Kernels>
struct ConvRules {
  static constexpr auto saves = "shape(input), shape(weight), weight for input, input for weight";
  static Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        IntList stride, const Argument& padding, IntList dilation, int64_t groups) {
    return Kernels::convolve(conv(Op::name, input, weight, bias, stride, padding, dilation, groups),
                             input, weight, bias);
  }
  static Tensor shape_rule(const Tensor& input, const Tensor& weight, const Tensor& bias,
                           IntList stride, const Argument& padding, IntList dilation,
                           int64_t groups) {
    return tenon::empty_tensor(
        conv(Op::name, input, weight, bias, stride, padding, dilation, groups).output_shape(),
        input.dtype());
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               IntList stride, const Argument& padding, IntList dilation,
                               int64_t groups) {
    return conv(Op::name, input, weight, bias, stride, padding, dilation, groups).multiply_adds();
  }
  static Gradients backward(ContextOf<Op>& c, const Tensor& g) { return conv_backward(c, g); }
  static Tensor jvp(ContextOf<Op>& c, TensorList t) { return conv_jvp(Op::name, c, t); }
};

template <class Op, class Kernels>
struct ConvInputRules {
  static constexpr auto saves = "shape(weight), grad_output for weight, weight for grad_output";
  static Tensor forward(IntList input_size, const Tensor& weight, const Tensor& grad_output,
                        IntList stride, const Argument& padding, IntList dilation, int64_t groups) {
    return Kernels::input_gradient(
        conv_input(Op::name, input_size, weight, grad_output, stride, padding, dilation, groups),
        weight, grad_output);
  }
  static Tensor shape_rule(IntList input_size, const Tensor& weight, const Tensor& grad_output,
                           IntList stride, const Argument& padding, IntList dilation,
                           int64_t groups) {
    return tenon::empty_tensor(
        conv_input(Op::name, input_size, weight, grad_output, stride, padding, dilation, groups)
            .input_shape(),
        weight.dtype());
  }
  static int64_t multiply_adds(IntList input_size, const Tensor& weight, const Tensor& grad_output,
                               IntList stride, const Argument& padding, IntList dilation,
                               int64_t groups) {
    return conv_input(Op::name, input_size, weight, grad_output, stride, padding, dilation, groups)
        .multiply_adds();
  }
  static Gradients backward(ContextOf<Op>& c, const Tensor& v) { return conv_input_backward(c, v); }
  static constexpr auto jvp = tenon::multilinear;
};

template <class Op, class Kernels>
struct ConvWeightRules {
  static constexpr auto saves = "shape(input), grad_output for input, input for grad_output";
  static Tensor forward(const Tensor& input, IntList weight_size, const Tensor& grad_output,
                        IntList stride, const Argument& padding, IntList dilation, int64_t groups) {
    return Kernels::weight_gradient(
        conv_weight(Op::name, input, weight_size, grad_output, stride, padding, dilation, groups),
        input, grad_output, weight_size);
  }
  static Gradients backward(ContextOf<Op>& c, const Tensor& v) {
    return conv_weight_backward(c, v);
  }
  static constexpr auto jvp = tenon::multilinear;
};

// ---- declarations: schemas and documents that every provider of an op shares ----

template <int d>
struct ConvDeclaration {
  static constexpr auto name = family_text<d>("conv{d}d");
  static constexpr auto schema = family_text<d>(
      "nn.functional.conv{d}d(Tensor input, Tensor weight, Tensor? bias=None, int[{d}] stride=1, "
      "any padding=0, int[{d}] dilation=1, int groups=1) -> Tensor");
  static constexpr auto doc = family_text<d>(
      "The cross-correlation of {rows [N, C, W] or [C, W]|images [N, C, H, W] or [C, H, W]|"
      "volumes [N, C, D, H, W] or [C, D, H, W]} with a set of kernels."
      "{ padding is a number, or 'valid', none, or 'same', which keeps W and needs a stride of 1.|"
      " padding is one number or two, or 'valid', none, or 'same', which keeps H and W and needs a "
      "stride of 1.|}");
};

template <int d>
struct ConvInputDeclaration {
  static constexpr auto name = family_text<d>("conv{d}d_input");
  static constexpr auto schema = family_text<d>(
      "nn.functional.conv{d}d_input(int[] input_size, Tensor weight, Tensor grad_output, "
      "int[{d}] stride=1, any padding=0, int[{d}] dilation=1, int groups=1) -> Tensor");
  static constexpr auto doc = family_text<d>("The gradient of conv{d}d with respect to its input.");
};

template <int d>
struct ConvWeightDeclaration {
  static constexpr auto name = family_text<d>("conv{d}d_weight");
  static constexpr auto schema = family_text<d>(
      "nn.functional.conv{d}d_weight(Tensor input, int[] weight_size, Tensor grad_output, "
      "int[{d}] stride=1, any padding=0, int[{d}] dilation=1, int groups=1) -> Tensor");
  static constexpr auto doc =
      family_text<d>("The gradient of conv{d}d with respect to its weight.");
};

}  // namespace nn
