// conv1d, conv2d and conv3d, each with its two gradients, a product with the unfolded input; every one
// is differentiated through the other two. The transposed convolutions are gradients for an input.
#include <algorithm>
#include <vector>

#include "depthwise.hpp"
#include "padding.hpp"
#include "pooling.hpp"
#include "unfolding.hpp"

namespace {

using namespace nn;
using tenon::Argument;

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
  // One channel for a feature or two: a product would be with a matrix of one row or two.
  bool is_depthwise() const { return group_channels() == 1 && group_features() <= 2 && groups > 1; }
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
  // Samples that are worth a thread: a million multiplications, some 50 microseconds.
  int64_t grain() const {
    return 1 + 1048576 / std::max<int64_t>(1, depth() * positions() * features);
  }

  void check_output(const Tensor& grad_output) const {
    kernel::check_shape(op, "grad_output", grad_output, output_shape());
  }
};

// Rows [first, first + rows) of a contiguous tensor seen as a matrix of that many columns.
Tensor matrix(const Tensor& tensor, int64_t rows, int64_t columns, int64_t offset) {
  const std::array<int64_t, 2> shape{rows, columns}, strides{columns, 1};
  return tenon::alias_tensor(tensor, {shape.data(), 2}, {strides.data(), 2}, offset);
}
Tensor transposed(const Tensor& tensor) {
  const std::array<int64_t, 2> shape{tensor.shape()[1], tensor.shape()[0]},
      strides{tensor.strides()[1], tensor.strides()[0]};
  return tenon::alias_tensor(tensor, {shape.data(), 2}, {strides.data(), 2}, 0);
}

// The unfolded input of sample n and group g: in `columns`, or where it is.
template <class T>
Tensor unfolded(const Convolution& k, const Tensor& input, int64_t n, int64_t g,
                const Tensor& columns) {
  const int64_t offset = (n * k.channels + g * k.group_channels()) * k.input_plane();
  if (k.is_pointwise()) return matrix(input, k.depth(), k.positions(), offset);
  unfold(k.patches, kernel::elements<const T>(input) + offset, kernel::elements<T>(columns));
  return columns;
}

// Features, images or kernels of a depthwise convolution that are worth a thread.
int64_t depthwise_grain(const Convolution& k, int64_t planes) {
  return 1 + 131072 / std::max<int64_t>(1, planes * k.depth() * k.positions());
}

void convolve_depthwise(const Convolution& k, const Tensor& x, const Tensor& w, const Tensor& b,
                        const Tensor& result) {
  const bool unit_stride = has_unit_stride(k.patches);
  visit_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    tenon::parallel_for(
        0, k.batch * k.features, depthwise_grain(k, 1), [&](int64_t begin, int64_t end) {
          std::vector<T> scratch(static_cast<size_t>(unit_stride ? Bands(k.patches).scratch() : 0));
          for (int64_t i = begin; i < end; ++i) {
            const int64_t feature = i % k.features, image = i / k.group_features();
            const T *const from = kernel::elements<const T>(x) + image * k.input_plane(),
                           *const weights = kernel::elements<const T>(w) + feature * k.depth();
            T* const to = kernel::elements<T>(result) + i * k.positions();
            std::fill_n(to, k.positions(),
                        b.defined() ? kernel::elements<const T>(b)[feature] : T{0});
            if (unit_stride)
              kernel::run<DepthwiseBands<T>>(from, weights, to, &k.patches, scratch.data());
            else
              kernel::run<DepthwiseRows<T>>(from, weights, to, &k.patches, scratch.data());
          }
        });
  });
}

// The gradient for the input as the convolution of the outputs' with turned kernels.
void input_gradient_depthwise(const Convolution& k, const Patches& back, const Tensor& w,
                              const Tensor& go, const Tensor& result) {
  const int64_t features = k.group_features(), area = k.depth();
  visit_floating(w.dtype(), [&](auto zero) {
    using T = decltype(zero);
    tenon::parallel_for(
        0, k.batch * k.channels, depthwise_grain(k, features), [&](int64_t begin, int64_t end) {
          std::vector<T> scratch(static_cast<size_t>(Bands(back).scratch() + area));
          T* const turned_kernel = scratch.data() + Bands(back).scratch();
          for (int64_t i = begin * features; i < end * features; ++i) {
            const T* const weights = kernel::elements<const T>(w) + i % k.features * area;
            std::reverse_copy(weights, weights + area, turned_kernel);
            kernel::run<DepthwiseBands<T>>(
                kernel::elements<const T>(go) + i * k.positions(),
                static_cast<const T*>(turned_kernel),
                kernel::elements<T>(result) + i / features * k.input_plane(), &back,
                scratch.data());
          }
        });
  });
}

// One sum for each feature over the samples, in their order.
void weight_gradient_depthwise(const Convolution& k, const Tensor& x, const Tensor& go,
                               const Tensor& result) {
  const bool unit_stride = has_unit_stride(k.patches);
  visit_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    tenon::parallel_for(
        0, k.features, depthwise_grain(k, k.batch), [&](int64_t begin, int64_t end) {
          std::vector<T> scratch(static_cast<size_t>(unit_stride ? Bands(k.patches).scratch() : 0));
          for (int64_t feature = begin; feature < end; ++feature) {
            for (int64_t n = 0; n < k.batch; ++n) {
              const int64_t i = n * k.features + feature;
              const T *const from = kernel::elements<const T>(x) +
                                    i / k.group_features() * k.input_plane(),
                             *const g = kernel::elements<const T>(go) + i * k.positions();
              T* const to = kernel::elements<T>(result) + feature * k.depth();
              if (unit_stride)
                kernel::run<DepthwiseWeightBands<T>>(from, g, to, &k.patches, scratch.data());
              else
                kernel::run<DepthwiseWeightRows<T>>(from, g, to, &k.patches, scratch.data());
            }
          }
        });
  });
}

Tensor convolve(const Convolution& k, const Tensor& input, const Tensor& weight,
                const Tensor& bias) {
  Tensor result = tenon::empty_tensor(k.output_shape(), input.dtype());
  if (result.numel() == 0) return result;
  const Tensor x = dense(input), w = dense(weight), b = bias.defined() ? dense(bias) : bias;
  if (k.is_depthwise()) {
    convolve_depthwise(k, x, w, b, result);
    return result;
  }
  visit_floating(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    tenon::parallel_for(0, k.batch, k.grain(), [&](int64_t begin, int64_t end) {
      const tenon::NoGrad no_grad;  // recording is each thread's own matter
      Tensor columns;
      if (!k.is_pointwise())
        columns = tenon::empty_tensor({k.depth(), k.positions()}, input.dtype());
      for (int64_t n = begin; n < end; ++n) {
        for (int64_t g = 0; g < k.groups; ++g) {
          const int64_t first = n * k.features + g * k.group_features();
          tenon::mm(matrix(w, k.group_features(), k.depth(), g * k.group_features() * k.depth()),
                    unfolded<T>(k, x, n, g, columns),
                    matrix(result, k.group_features(), k.positions(), first * k.positions()));
        }
        if (!b.defined()) continue;
        const T* shift = kernel::elements<const T>(b);
        T* plane = kernel::elements<T>(result) + n * k.features * k.positions();
        for (int64_t f = 0; f < k.features; ++f, plane += k.positions()) {
          for (int64_t i = 0; i < k.positions(); ++i) plane[i] += shift[f];
        }
      }
    });
  });
  return result;
}

Tensor input_gradient(const Convolution& k, const Tensor& weight, const Tensor& grad_output) {
  Tensor result = tenon::empty_tensor(k.input_shape(), weight.dtype());
  tenon::fill_elements(result, 0);
  if (result.numel() == 0 || grad_output.numel() == 0) return result;
  const Tensor w = dense(weight), go = dense(grad_output);
  if (Patches back; k.is_depthwise() && turned(k.patches, back)) {
    input_gradient_depthwise(k, back, w, go, result);
    return result;
  }
  visit_floating(weight.dtype(), [&](auto zero) {
    using T = decltype(zero);
    tenon::parallel_for(0, k.batch, k.grain(), [&](int64_t begin, int64_t end) {
      const tenon::NoGrad no_grad;
      Tensor columns;
      if (!k.is_pointwise())
        columns = tenon::empty_tensor({k.depth(), k.positions()}, weight.dtype());
      for (int64_t n = begin; n < end; ++n) {
        for (int64_t g = 0; g < k.groups; ++g) {
          const Tensor group = transposed(
              matrix(w, k.group_features(), k.depth(), g * k.group_features() * k.depth()));
          const Tensor rows = matrix(go, k.group_features(), k.positions(),
                                     (n * k.features + g * k.group_features()) * k.positions());
          const int64_t offset = (n * k.channels + g * k.group_channels()) * k.input_plane();
          if (k.is_pointwise()) {
            tenon::mm(group, rows, matrix(result, k.depth(), k.positions(), offset));
          } else {
            tenon::mm(group, rows, columns);
            fold(k.patches, kernel::elements<const T>(columns),
                 kernel::elements<T>(result) + offset);
          }
        }
      }
    });
  });
  return result;
}

Tensor weight_gradient(const Convolution& k, const Tensor& input, const Tensor& grad_output,
                       IntList weight_size) {
  Tensor result = tenon::empty_tensor(weight_size, input.dtype());
  tenon::fill_elements(result, 0);
  if (result.numel() == 0 || grad_output.numel() == 0) return result;
  const Tensor x = dense(input), go = dense(grad_output);
  if (k.is_depthwise()) {
    weight_gradient_depthwise(k, x, go, result);
    return result;
  }
  // A fixed number of partial sums, whatever the threads, so that the result is the same.
  const int64_t parts = std::min({int64_t{8}, k.batch, 1 + k.batch / k.grain()});
  const int64_t part = (k.batch + parts - 1) / parts, size = result.numel();
  const Tensor sums = tenon::empty_tensor({parts, size}, input.dtype());
  tenon::fill_elements(sums, 0);
  visit_floating(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    tenon::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      const tenon::NoGrad no_grad;
      Tensor columns;
      if (!k.is_pointwise())
        columns = tenon::empty_tensor({k.depth(), k.positions()}, input.dtype());
      const Tensor product = tenon::empty_tensor({k.group_features(), k.depth()}, input.dtype());
      for (int64_t n = begin * part; n < std::min(k.batch, end * part); ++n) {
        for (int64_t g = 0; g < k.groups; ++g) {
          const Tensor rows = matrix(go, k.group_features(), k.positions(),
                                     (n * k.features + g * k.group_features()) * k.positions());
          tenon::mm(rows, transposed(unfolded<T>(k, x, n, g, columns)), product);
          const T* from = kernel::elements<const T>(product);
          T* to = kernel::elements<T>(sums) + n / part * size + g * product.numel();
          for (int64_t i = 0; i < product.numel(); ++i) to[i] += from[i];
        }
      }
    });
    T* to = kernel::elements<T>(result);
    for (int64_t p = 0; p < parts; ++p) {
      const T* from = kernel::elements<const T>(sums) + p * size;
      for (int64_t i = 0; i < size; ++i) to[i] += from[i];
    }
  });
  return result;
}

// The ops of as many spatial dimensions, for each other's rules.
Tensor convolve(int64_t dimensions, const Tensor& input, const Tensor& weight, IntList stride,
                const Argument& padding, IntList dilation, int64_t groups) {
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
Tensor for_input(int64_t dimensions, IntList size, const Tensor& weight, const Tensor& grad_output,
                 IntList stride, const Argument& padding, IntList dilation, int64_t groups) {
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
Tensor for_weight(int64_t dimensions, const Tensor& input, IntList size, const Tensor& grad_output,
                  IntList stride, const Argument& padding, IntList dilation, int64_t groups) {
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

// What all three ops end with.
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
    return ::convolve(dimensions(), input, weight, stride, padding, dilation, groups);
  }
  Tensor input(IntList size, const Tensor& weight, const Tensor& grad_output) const {
    return for_input(dimensions(), size, weight, grad_output, stride, padding, dilation, groups);
  }
  Tensor weight(const Tensor& input, IntList size, const Tensor& grad_output) const {
    return for_weight(dimensions(), input, size, grad_output, stride, padding, dilation, groups);
  }
};

void check_bias(const char* op, const Tensor& input, const Tensor& bias, int64_t features) {
  if (!bias.defined()) return;
  check_same_dtype(op, "input", input, "bias", bias);
  if (bias.dim() != 1 || bias.shape()[0] != features) {
    throw tenon::ValueError(std::string(op) + "(): 'bias' must have shape [" +
                            std::to_string(features) + "], got " + shape_text(bias));
  }
}
// A bias as a tensor that goes with an output of so many spatial dimensions.
Tensor along_features(const Tensor& bias, int64_t dimensions) {
  std::vector<int64_t> shape(static_cast<size_t>(dimensions) + 1, 1);
  shape[0] = bias.numel();
  return bias.reshape(shape);
}

// The three ops' rules and kernels, whatever their dimensions. A parameter `any`, as padding is, takes
// a gradient.
using Gradients = std::array<Tensor, 5>;

Convolution conv(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                 IntList stride, const Argument& padding, IntList dilation, int64_t groups) {
  const Convolution convolution(op, input.dtype(), input.shape(), weight.shape(), stride, padding,
                                dilation, groups);
  check_same_dtype(op, "input", input, "weight", weight);
  check_bias(op, input, bias, convolution.features);
  return convolution;
}
template <class Op>
Gradients conv_backward(ContextOf<Op>& c, const Tensor& g) {
  const Settings settings(c);
  Tensor input, weight, bias;
  if (c.needs_input_grad("input"_arg))
    input = settings.input(c["input"_arg].shape(), c["weight"_arg], g);
  if (c.needs_input_grad("weight"_arg))
    weight = settings.weight(c["input"_arg], c["weight"_arg].shape(), g);
  if (c.needs_input_grad("bias"_arg)) {
    std::vector<int64_t> dims;
    for (int64_t i = 0; i < g.dim(); ++i) {
      if (i != g.dim() - settings.dimensions() - 1) dims.push_back(i);
    }
    bias = g.sum(dims);
  }
  return {std::move(input), std::move(weight), std::move(bias), Tensor(), Tensor()};
}
template <class Op>
Tensor conv_jvp(const char* op, ContextOf<Op>& c, TensorList t) {
  const Settings settings(c);
  Tensor tangent;
  if (t[0].defined()) tangent = settings.convolve(t[0], c["weight"_arg]);
  if (t[1].defined()) tangent = plus(tangent, settings.convolve(c["input"_arg], t[1]));
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

Convolution conv_input(const char* op, IntList input_size, const Tensor& weight,
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
  Tensor weight, grad_output;
  if (c.needs_input_grad("weight"_arg))
    weight = settings.weight(v, c["weight"_arg].shape(), c["grad_output"_arg]);
  if (c.needs_input_grad("grad_output"_arg)) grad_output = settings.convolve(v, c["weight"_arg]);
  return {Tensor(), std::move(weight), std::move(grad_output), Tensor(), Tensor()};
}

Tensor conv_weight(const char* op, const Tensor& input, IntList weight_size,
                   const Tensor& grad_output, IntList stride, const Argument& padding,
                   IntList dilation, int64_t groups) {
  const Convolution convolution(op, input.dtype(), input.shape(), weight_size, stride, padding,
                                dilation, groups);
  check_same_dtype(op, "input", input, "grad_output", grad_output);
  convolution.check_output(grad_output);
  return weight_gradient(convolution, input, grad_output, weight_size);
}
template <class Op>
Gradients conv_weight_backward(ContextOf<Op>& c, const Tensor& v) {
  const Settings settings(c);
  Tensor input, grad_output;
  if (c.needs_input_grad("input"_arg))
    input = settings.input(c["input"_arg].shape(), v, c["grad_output"_arg]);
  if (c.needs_input_grad("grad_output"_arg)) grad_output = settings.convolve(c["input"_arg], v);
  return {std::move(input), Tensor(), std::move(grad_output), Tensor(), Tensor()};
}

// The gradient for an input, whose size strides leave open: output_padding says which.
Tensor conv_transpose(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                      IntList stride, IntList padding, IntList output_padding, int64_t groups,
                      IntList dilation) {
  const int64_t dimensions = stride.size();
  const auto refuse = [&](const std::string& text) {
    throw tenon::ValueError(std::string(op) + "(): " + text);
  };
  check_floating(op, "input", input);
  check_same_dtype(op, "input", input, "weight", weight);
  if ((input.dim() != dimensions + 1 && input.dim() != dimensions + 2) ||
      weight.dim() != dimensions + 2 || weight.shape()[0] != input.size(-dimensions - 1)) {
    refuse("'input' must have shape [N, C, ...] or [C, ...] with " + std::to_string(dimensions) +
           " spatial dimensions and 'weight' [C, features / groups, ...], got " +
           shape_text(input) + " and " + shape_text(weight));
  }
  if (groups < 1 || weight.shape()[0] % groups != 0) {
    refuse("groups must divide the " + std::to_string(weight.shape()[0]) + " channels, got " +
           std::to_string(groups));
  }
  Shape size(input.shape());
  const int64_t channels_at = size.rank - dimensions - 1;
  if (__builtin_mul_overflow(weight.shape()[1], groups, &size[channels_at]))
    refuse("too many features: " + shape_text(weight) + " with groups=" + std::to_string(groups));
  check_bias(op, input, bias, size[channels_at]);
  for (int64_t i = 0; i < dimensions; ++i) {
    check_setting(op, "stride", stride[i], 1);
    check_setting(op, "dilation", dilation[i], 1);
    check_setting(op, "padding", padding[i], 0);
    check_setting(op, "output_padding", output_padding[i], 0);
    check_setting(op, "the kernel size", weight.shape()[2 + i], 1);
    int64_t& length = size[channels_at + 1 + i];
    check_setting(op, "the size of 'input'", length, 1);
    if (output_padding[i] >= std::max(stride[i], dilation[i])) {
      refuse("output_padding must be below stride or dilation, got " +
             std::to_string(output_padding[i]) + " with stride " + std::to_string(stride[i]) +
             " and dilation " + std::to_string(dilation[i]));
    }
    const int64_t full = (length - 1) * stride[i] + dilation[i] * (weight.shape()[2 + i] - 1) +
                         output_padding[i] + 1 - 2 * padding[i];
    if (full < 1) {
      refuse("the output would have size " + std::to_string(full) + " along spatial dimension " +
             std::to_string(i) + "; use less padding");
    }
    length = full;
  }
  // A convolution of an output with that much padding has more elements than `input`: zeros.
  Tensor spread = input;
  for (int64_t i = 0; i < dimensions; ++i) {
    const int64_t count = output_padding[i] / stride[i];
    if (count == 0) continue;
    Shape shape(spread.shape());
    shape[channels_at + 1 + i] = count;
    const Tensor behind = tenon::zeros(IntList(shape), spread.dtype());
    spread = tenon::cat(std::vector<Tensor>{spread, behind}, channels_at + 1 + i);
  }
  spread = for_input(dimensions, size, weight, spread, stride, padding, dilation, groups);
  return bias.defined() ? spread + along_features(bias, dimensions) : spread;
}

// What the ops of one kind share, whatever their dimensions: `Op` has its own schema, name, samples
// and document.
template <class Op>
struct ConvRules {
  static constexpr auto saves = "shape(input), shape(weight), weight for input, input for weight";
  static Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        IntList stride, const Argument& padding, IntList dilation, int64_t groups) {
    return convolve(conv(Op::name, input, weight, bias, stride, padding, dilation, groups), input,
                    weight, bias);
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

template <class Op>
struct ConvInputRules {
  static constexpr auto saves = "shape(weight), grad_output for weight, weight for grad_output";
  static Tensor forward(IntList input_size, const Tensor& weight, const Tensor& grad_output,
                        IntList stride, const Argument& padding, IntList dilation, int64_t groups) {
    return input_gradient(
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

template <class Op>
struct ConvWeightRules {
  static constexpr auto saves = "shape(input), grad_output for input, input for grad_output";
  static Tensor forward(const Tensor& input, IntList weight_size, const Tensor& grad_output,
                        IntList stride, const Argument& padding, IntList dilation, int64_t groups) {
    return conv_weight(Op::name, input, weight_size, grad_output, stride, padding, dilation,
                       groups);
  }
  static Gradients backward(ContextOf<Op>& c, const Tensor& v) {
    return conv_weight_backward(c, v);
  }
  static constexpr auto jvp = tenon::multilinear;
};

template <class Op>
struct ConvTransposeRules {
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        IntList stride, IntList padding, IntList output_padding, int64_t groups,
                        IntList dilation) {
    return conv_transpose(Op::name, input, weight, bias, stride, padding, output_padding, groups,
                          dilation);
  }
};

struct Conv1d : ConvRules<Conv1d> {
  static constexpr auto name = "conv1d";
  static constexpr auto schema =
      "nn.functional.conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, "
      "any padding=0, int[1] dilation=1, int groups=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 2, 4]}, "weight": {"shape": [3, 2, 2]}, "bias": {"shape": [3]}},
          {"input": {"shape": [2, 5]}, "weight": {"shape": [2, 1, 2]}, "stride": 2, "padding": 1, "dilation": 2, "groups": 2}])";
  static constexpr auto doc =
      "The cross-correlation of rows [N, C, W] or [C, W] with a set of kernels. padding is a "
      "number, "
      "or 'valid', none, or 'same', which keeps W and needs a stride of 1.";
};

struct Conv1dInput : ConvInputRules<Conv1dInput> {
  static constexpr auto name = "conv1d_input";
  static constexpr auto schema =
      "nn.functional.conv1d_input(int[] input_size, Tensor weight, Tensor grad_output, "
      "int[1] stride=1, any padding=0, int[1] dilation=1, int groups=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input_size": [1, 2, 4], "weight": {"shape": [3, 2, 3]}, "grad_output": {"shape": [1, 3, 2]}},
          {"input_size": [2, 4], "weight": {"shape": [2, 1, 2]}, "stride": 2, "padding": 1, "groups": 2,
           "grad_output": {"shape": [2, 3]}}])";
  static constexpr auto doc = "The gradient of conv1d with respect to its input.";
};

struct Conv1dWeight : ConvWeightRules<Conv1dWeight> {
  static constexpr auto name = "conv1d_weight";
  static constexpr auto schema =
      "nn.functional.conv1d_weight(Tensor input, int[] weight_size, Tensor grad_output, "
      "int[1] stride=1, any padding=0, int[1] dilation=1, int groups=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 2, 4]}, "weight_size": [3, 2, 2], "grad_output": {"shape": [2, 3, 3]}}])";
  static constexpr auto doc = "The gradient of conv1d with respect to its weight.";
};

struct ConvTranspose1d : ConvTransposeRules<ConvTranspose1d> {
  static constexpr auto name = "conv_transpose1d";
  static constexpr auto schema =
      "nn.functional.conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] "
      "stride=1, int[1] padding=0, int[1] output_padding=0, int groups=1, int[1] dilation=1) "
      "-> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 2, 3]}, "weight": {"shape": [2, 2, 2]}, "bias": {"shape": [2]}, "stride": 2, "output_padding": 1},
          {"input": {"shape": [2, 3]}, "weight": {"shape": [2, 1, 3]}, "padding": 1, "groups": 2}])";
  static constexpr auto doc =
      "The transpose of conv1d as a map of its input: each element of rows [N, C, W] or [C, W] is "
      "spread "
      "over the output by the kernels of weight, [C, features / groups, ...].";
};

struct Conv2d : ConvRules<Conv2d> {
  static constexpr auto name = "conv2d";
  static constexpr auto schema =
      "nn.functional.conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, "
      "any padding=0, int[2] dilation=1, int groups=1) -> Tensor";
  static constexpr auto doc =
      "The cross-correlation of images [N, C, H, W] or [C, H, W] with a set of kernels. padding is "
      "one number or two, or 'valid', none, or 'same', which keeps H and W and needs a stride of "
      "1.";
};

struct Conv2dInput : ConvInputRules<Conv2dInput> {
  static constexpr auto name = "conv2d_input";
  static constexpr auto schema =
      "nn.functional.conv2d_input(int[] input_size, Tensor weight, Tensor grad_output, "
      "int[2] stride=1, any padding=0, int[2] dilation=1, int groups=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input_size": [1, 2, 4, 4], "weight": {"shape": [3, 2, 3, 3]},
           "grad_output": {"shape": [1, 3, 2, 2]}},
          {"input_size": [2, 4, 4], "weight": {"shape": [2, 1, 2, 2]}, "stride": 2, "padding": 1, "groups": 2,
           "grad_output": {"shape": [2, 3, 3]}}])";
  static constexpr auto doc = "The gradient of conv2d with respect to its input.";
};

struct Conv2dWeight : ConvWeightRules<Conv2dWeight> {
  static constexpr auto name = "conv2d_weight";
  static constexpr auto schema =
      "nn.functional.conv2d_weight(Tensor input, int[] weight_size, Tensor grad_output, "
      "int[2] stride=1, any padding=0, int[2] dilation=1, int groups=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 2, 4, 3]}, "weight_size": [3, 2, 2, 1],
           "grad_output": {"shape": [2, 3, 3, 3]}},
          {"input": {"shape": [2, 4, 4]}, "weight_size": [2, 1, 2, 2], "stride": 2, "padding": 1, "groups": 2,
           "grad_output": {"shape": [2, 3, 3]}}])";
  static constexpr auto doc = "The gradient of conv2d with respect to its weight.";
};

struct ConvTranspose2d : ConvTransposeRules<ConvTranspose2d> {
  static constexpr auto name = "conv_transpose2d";
  static constexpr auto schema =
      "nn.functional.conv_transpose2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] "
      "stride=1, int[2] padding=0, int[2] output_padding=0, int groups=1, int[2] dilation=1) "
      "-> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 2, 2, 3]}, "weight": {"shape": [2, 2, 2, 2]}, "bias": {"shape": [2]}, "stride": [2, 1], "output_padding": [1, 0]},
          {"input": {"shape": [2, 2, 2]}, "weight": {"shape": [2, 1, 2, 2]}, "padding": 1, "groups": 2, "dilation": 2}])";
  static constexpr auto doc =
      "The transpose of conv2d as a map of its input: each element of images [N, C, H, W] or [C, "
      "H, W] is spread "
      "over the output by the kernels of weight, [C, features / groups, ...].";
};

struct Conv3d : ConvRules<Conv3d> {
  static constexpr auto name = "conv3d";
  static constexpr auto schema =
      "nn.functional.conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, "
      "any padding=0, int[3] dilation=1, int groups=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 2, 2, 3, 3]}, "weight": {"shape": [2, 2, 2, 2, 2]}, "bias": {"shape": [2]}},
          {"input": {"shape": [2, 2, 2, 3]}, "weight": {"shape": [2, 1, 1, 2, 2]}, "stride": [1, 2, 1], "padding": [0, 1, 0], "groups": 2}])";
  static constexpr auto doc =
      "The cross-correlation of volumes [N, C, D, H, W] or [C, D, H, W] with a set of kernels.";
};

struct Conv3dInput : ConvInputRules<Conv3dInput> {
  static constexpr auto name = "conv3d_input";
  static constexpr auto schema =
      "nn.functional.conv3d_input(int[] input_size, Tensor weight, Tensor grad_output, "
      "int[3] stride=1, any padding=0, int[3] dilation=1, int groups=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input_size": [1, 2, 2, 3, 3], "weight": {"shape": [2, 2, 2, 2, 2]}, "grad_output": {"shape": [1, 2, 1, 2, 2]}}])";
  static constexpr auto doc = "The gradient of conv3d with respect to its input.";
};

struct Conv3dWeight : ConvWeightRules<Conv3dWeight> {
  static constexpr auto name = "conv3d_weight";
  static constexpr auto schema =
      "nn.functional.conv3d_weight(Tensor input, int[] weight_size, Tensor grad_output, "
      "int[3] stride=1, any padding=0, int[3] dilation=1, int groups=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 2, 2, 3, 3]}, "weight_size": [2, 2, 2, 2, 2], "grad_output": {"shape": [1, 2, 1, 2, 2]}}])";
  static constexpr auto doc = "The gradient of conv3d with respect to its weight.";
};

struct ConvTranspose3d : ConvTransposeRules<ConvTranspose3d> {
  static constexpr auto name = "conv_transpose3d";
  static constexpr auto schema =
      "nn.functional.conv_transpose3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] "
      "stride=1, int[3] padding=0, int[3] output_padding=0, int groups=1, int[3] dilation=1) "
      "-> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 2, 1, 2, 2]}, "weight": {"shape": [2, 1, 2, 2, 1]}, "bias": {"shape": [1]}, "stride": [1, 2, 1]}])";
  static constexpr auto doc =
      "The transpose of conv3d as a map of its input: each element of volumes [N, C, D, H, W] or "
      "[C, D, H, W] is spread "
      "over the output by the kernels of weight, [C, features / groups, ...].";
};

}  // namespace
TENON_OP(Conv1d)
TENON_OP(Conv1dInput)
TENON_OP(Conv1dWeight)
TENON_OP(ConvTranspose1d)
TENON_OP(Conv2d)
TENON_OP(Conv2dInput)
TENON_OP(Conv2dWeight)
TENON_OP(ConvTranspose2d)
TENON_OP(Conv3d)
TENON_OP(Conv3dInput)
TENON_OP(Conv3dWeight)
TENON_OP(ConvTranspose3d)
