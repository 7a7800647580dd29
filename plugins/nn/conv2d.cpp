// conv2d and its two gradients, each a product with the unfolded input; every one is differentiated
// through the other two.
#include <algorithm>

#include "common.hpp"

namespace {

using namespace nn;

// The sizes of a convolution, the same for all three ops.
struct Convolution {
  const char* op;
  int64_t batch, channels, height, width;  // of the input
  int64_t features, kernel_height, kernel_width;
  int64_t out_height, out_width;
  int64_t stride[2], padding[2], dilation[2];
  int64_t groups;
  bool batched;

  Convolution(const char* op_name, DType dtype, IntList input, IntList weight, IntList strides,
              IntList paddings, IntList dilations, int64_t group_count)
      : op(op_name), groups(group_count), batched(input.size() == 4) {
    check_floating(op, "input", dtype);
    if (input.size() != 3 && input.size() != 4) {
      refuse("'input' must have shape [N, C, H, W] or [C, H, W], got " + shape_text(input));
    }
    if (weight.size() != 4) {
      refuse("'weight' must have shape [features, C / groups, kernel height, kernel width], got " +
             shape_text(weight));
    }
    for (int i = 0; i < 2; ++i) {
      stride[i] = strides[i];
      padding[i] = paddings[i];
      dilation[i] = dilations[i];
      check_setting(op, "stride", stride[i], 1);
      check_setting(op, "dilation", dilation[i], 1);
      check_setting(op, "padding", padding[i], 0);
    }
    const int64_t* size = input.data() + (batched ? 1 : 0);
    batch = batched ? input[0] : 1;
    channels = size[0];
    height = size[1];
    width = size[2];
    features = weight[0];
    kernel_height = weight[2];
    kernel_width = weight[3];
    if (groups < 1 || channels % groups != 0 || features % groups != 0) {
      refuse("groups must divide the " + std::to_string(channels) + " channels and the " +
             std::to_string(features) + " features, got " + std::to_string(groups));
    }
    if (weight[1] != channels / groups) {
      refuse("'weight' of shape " + shape_text(weight) + " with groups=" + std::to_string(groups) +
             " takes " + std::to_string(weight[1] * groups) + " channels, but the input of shape " +
             shape_text(input) + " has " + std::to_string(channels));
    }
    if (kernel_height < 1 || kernel_width < 1)
      refuse("the kernel is empty: 'weight' has shape " + shape_text(weight));
    check_setting(op, "the kernel height", kernel_height, 1);
    check_setting(op, "the kernel width", kernel_width, 1);
    out_height = out_size(height, kernel_height, 0, input);
    out_width = out_size(width, kernel_width, 1, input);
  }

  [[noreturn]] void refuse(const std::string& text) const {
    throw tenon::ValueError(std::string(op) + "(): " + text);
  }
  int64_t out_size(int64_t size, int64_t kernel, int i, IntList input) const {
    const int64_t reach = dilation[i] * (kernel - 1) + 1, padded = size + 2 * padding[i];
    if (reach > padded) {
      refuse("the kernel reaches over " + std::to_string(reach) + (i == 0 ? " rows" : " columns") +
             " but the padded input of shape " + shape_text(input) + " has " +
             std::to_string(padded));
    }
    return (padded - reach) / stride[i] + 1;
  }

  int64_t group_channels() const { return channels / groups; }
  int64_t group_features() const { return features / groups; }
  int64_t depth() const {
    return group_channels() * kernel_height * kernel_width;
  }                                                             // rows of the unfolded input
  int64_t positions() const { return out_height * out_width; }  // its columns
  int64_t input_plane() const { return height * width; }
  // A kernel of one pixel: the input is its own unfolding.
  bool is_pointwise() const {
    return kernel_height == 1 && kernel_width == 1 && stride[0] == 1 && stride[1] == 1 &&
           padding[0] == 0 && padding[1] == 0;
  }
  Shape input_shape() const { return shape_of(channels, height, width); }
  Shape output_shape() const { return shape_of(features, out_height, out_width); }
  Shape shape_of(int64_t a, int64_t b, int64_t c) const {
    Shape shape;
    if (batched) shape.push(batch);
    shape.push(a);
    shape.push(b);
    shape.push(c);
    return shape;
  }
  // Samples that are worth a thread: a million multiplications, some 50 microseconds.
  int64_t grain() const {
    return 1 + 1048576 / std::max<int64_t>(1, depth() * positions() * features);
  }

  void check_output(const Tensor& grad_output) const {
    kernel::check_shape(op, "grad_output", grad_output, output_shape());
  }
};

// Columns [low, high) of the output whose input column `at * stride - padding + offset` exists.
struct Inside {
  int64_t low, high;
  Inside(int64_t count, int64_t stride, int64_t offset, int64_t size) {
    // offset + low * stride >= 0 and offset + (high - 1) * stride < size
    low = offset >= 0 ? 0 : std::min(count, (-offset + stride - 1) / stride);
    high = offset >= size ? low : std::max(low, std::min(count, (size - offset - 1) / stride + 1));
  }
};

// The input patches under each kernel element as rows: [depth, positions].
template <class T>
void unfold(const Convolution& k, const T* image, T* columns) {
  for (int64_t channel = 0; channel < k.group_channels(); ++channel, image += k.input_plane()) {
    for (int64_t i = 0; i < k.kernel_height; ++i) {
      for (int64_t j = 0; j < k.kernel_width; ++j) {
        const int64_t offset = j * k.dilation[1] - k.padding[1];
        const Inside inside(k.out_width, k.stride[1], offset, k.width);
        for (int64_t y = 0; y < k.out_height; ++y, columns += k.out_width) {
          const int64_t row = y * k.stride[0] + i * k.dilation[0] - k.padding[0];
          if (row < 0 || row >= k.height) {
            std::fill(columns, columns + k.out_width, T{0});
            continue;
          }
          const T* from = image + row * k.width + offset;
          std::fill(columns, columns + inside.low, T{0});
          if (k.stride[1] == 1) {
            std::copy(from + inside.low, from + inside.high, columns + inside.low);
          } else {
            for (int64_t x = inside.low; x < inside.high; ++x) columns[x] = from[x * k.stride[1]];
          }
          std::fill(columns + inside.high, columns + k.out_width, T{0});
        }
      }
    }
  }
}

// The transpose: adds the rows back to where they came from.
template <class T>
void fold(const Convolution& k, const T* columns, T* image) {
  for (int64_t channel = 0; channel < k.group_channels(); ++channel, image += k.input_plane()) {
    for (int64_t i = 0; i < k.kernel_height; ++i) {
      for (int64_t j = 0; j < k.kernel_width; ++j) {
        const int64_t offset = j * k.dilation[1] - k.padding[1];
        const Inside inside(k.out_width, k.stride[1], offset, k.width);
        for (int64_t y = 0; y < k.out_height; ++y, columns += k.out_width) {
          const int64_t row = y * k.stride[0] + i * k.dilation[0] - k.padding[0];
          if (row < 0 || row >= k.height) continue;
          T* to = image + row * k.width + offset;
          if (k.stride[1] == 1) {
            for (int64_t x = inside.low; x < inside.high; ++x) to[x] += columns[x];
          } else {
            for (int64_t x = inside.low; x < inside.high; ++x) to[x * k.stride[1]] += columns[x];
          }
        }
      }
    }
  }
}

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
  unfold(k, kernel::elements<const T>(input) + offset, kernel::elements<T>(columns));
  return columns;
}

Tensor convolve(const Convolution& k, const Tensor& input, const Tensor& weight,
                const Tensor& bias) {
  Tensor result = tenon::empty_tensor(k.output_shape(), input.dtype());
  if (result.numel() == 0) return result;
  const Tensor x = dense(input), w = dense(weight), b = bias.defined() ? dense(bias) : bias;
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
            fold(k, kernel::elements<const T>(columns), kernel::elements<T>(result) + offset);
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

// What all three ops end with.
struct Settings {
  IntList stride, padding, dilation;
  int64_t groups;
  template <class Op>
  explicit Settings(ContextOf<Op>& c)
      : stride(c["stride"_arg]),
        padding(c["padding"_arg]),
        dilation(c["dilation"_arg]),
        groups(c["groups"_arg]) {}
  Tensor convolve(const Tensor& input, const Tensor& weight) const {
    return tenon::nn::functional::conv2d(input, weight, Tensor(), stride, padding, dilation,
                                         groups);
  }
  Tensor input(IntList size, const Tensor& weight, const Tensor& grad_output) const {
    return tenon::nn::functional::conv2d_input(size, weight, grad_output, stride, padding, dilation,
                                               groups);
  }
  Tensor weight(const Tensor& input, IntList size, const Tensor& grad_output) const {
    return tenon::nn::functional::conv2d_weight(input, size, grad_output, stride, padding, dilation,
                                                groups);
  }
};

struct Conv2d {
  static constexpr auto schema =
      "nn.functional.conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, "
      "int[2] padding=0, "
      "int[2] dilation=1, int groups=1) -> Tensor";
  static constexpr auto doc =
      "The cross-correlation of images [N, C, H, W] or [C, H, W] with a set of kernels.";
  static constexpr auto saves = "shape(input), shape(weight), weight for input, input for weight";

  static Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        IntList stride, IntList padding, IntList dilation, int64_t groups) {
    const Convolution geometry("conv2d", input.dtype(), input.shape(), weight.shape(), stride,
                               padding, dilation, groups);
    check_same_dtype("conv2d", "input", input, "weight", weight);
    if (bias.defined()) {
      check_same_dtype("conv2d", "input", input, "bias", bias);
      if (bias.dim() != 1 || bias.shape()[0] != geometry.features) {
        geometry.refuse("'bias' must have shape [" + std::to_string(geometry.features) + "], got " +
                        shape_text(bias));
      }
    }
    return convolve(geometry, input, weight, bias);
  }
  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<Conv2d>& c, const Tensor& g) {
    const Settings settings(c);
    Tensor input, weight, bias;
    if (c.needs_input_grad("input"_arg))
      input = settings.input(c["input"_arg].shape(), c["weight"_arg], g);
    if (c.needs_input_grad("weight"_arg))
      weight = settings.weight(c["input"_arg], c["weight"_arg].shape(), g);
    if (c.needs_input_grad("bias"_arg)) bias = g.dim() == 4 ? g.sum({0, 2, 3}) : g.sum({1, 2});
    return {std::move(input), std::move(weight), std::move(bias)};
  }
  static Tensor jvp(ContextOf<Conv2d>& c, TensorList t) {
    const Settings settings(c);
    Tensor tangent;
    if (t[0].defined()) tangent = settings.convolve(t[0], c["weight"_arg]);
    if (t[1].defined()) tangent = plus(tangent, settings.convolve(c["input"_arg], t[1]));
    if (t[2].defined()) {
      const Tensor shift = t[2].reshape({-1, 1, 1});
      if (tangent.defined()) {
        tangent = tangent + shift;
      } else {
        const Convolution geometry("conv2d", t[2].dtype(), c["input"_arg].shape(),
                                   c["weight"_arg].shape(), settings.stride, settings.padding,
                                   settings.dilation, settings.groups);
        tangent = shift.expand(IntList(geometry.output_shape()));
      }
    }
    return tangent;
  }
};

struct Conv2dInput {
  static constexpr auto schema =
      "nn.functional.conv2d_input(int[] input_size, Tensor weight, Tensor grad_output, int[2] "
      "stride=1, "
      "int[2] padding=0, int[2] dilation=1, int groups=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input_size": [1, 2, 4, 4], "weight": {"shape": [3, 2, 3, 3]},
           "grad_output": {"shape": [1, 3, 2, 2]}},
          {"input_size": [2, 4, 4], "weight": {"shape": [2, 1, 2, 2]}, "stride": 2, "padding": 1, "groups": 2,
           "grad_output": {"shape": [2, 3, 3]}}])";
  static constexpr auto doc = "The gradient of conv2d with respect to its input.";
  static constexpr auto saves = "shape(weight), grad_output for weight, weight for grad_output";

  static Tensor forward(IntList input_size, const Tensor& weight, const Tensor& grad_output,
                        IntList stride, IntList padding, IntList dilation, int64_t groups) {
    const Convolution geometry("conv2d_input", weight.dtype(), input_size, weight.shape(), stride,
                               padding, dilation, groups);
    check_same_dtype("conv2d_input", "weight", weight, "grad_output", grad_output);
    geometry.check_output(grad_output);
    return input_gradient(geometry, weight, grad_output);
  }
  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<Conv2dInput>& c, const Tensor& v) {
    const Settings settings(c);
    Tensor weight, grad_output;
    if (c.needs_input_grad("weight"_arg))
      weight = settings.weight(v, c["weight"_arg].shape(), c["grad_output"_arg]);
    if (c.needs_input_grad("grad_output"_arg)) grad_output = settings.convolve(v, c["weight"_arg]);
    return {Tensor(), std::move(weight), std::move(grad_output)};
  }
  static constexpr auto jvp = tenon::multilinear;
};

struct Conv2dWeight {
  static constexpr auto schema =
      "nn.functional.conv2d_weight(Tensor input, int[] weight_size, Tensor grad_output, int[2] "
      "stride=1, "
      "int[2] padding=0, int[2] dilation=1, int groups=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 2, 4, 3]}, "weight_size": [3, 2, 2, 1],
           "grad_output": {"shape": [2, 3, 3, 3]}},
          {"input": {"shape": [2, 4, 4]}, "weight_size": [2, 1, 2, 2], "stride": 2, "padding": 1, "groups": 2,
           "grad_output": {"shape": [2, 3, 3]}}])";
  static constexpr auto doc = "The gradient of conv2d with respect to its weight.";
  static constexpr auto saves = "shape(input), grad_output for input, input for grad_output";

  static Tensor forward(const Tensor& input, IntList weight_size, const Tensor& grad_output,
                        IntList stride, IntList padding, IntList dilation, int64_t groups) {
    const Convolution geometry("conv2d_weight", input.dtype(), input.shape(), weight_size, stride,
                               padding, dilation, groups);
    check_same_dtype("conv2d_weight", "input", input, "grad_output", grad_output);
    geometry.check_output(grad_output);
    return weight_gradient(geometry, input, grad_output, weight_size);
  }
  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<Conv2dWeight>& c, const Tensor& v) {
    const Settings settings(c);
    Tensor input, grad_output;
    if (c.needs_input_grad("input"_arg))
      input = settings.input(c["input"_arg].shape(), v, c["grad_output"_arg]);
    if (c.needs_input_grad("grad_output"_arg)) grad_output = settings.convolve(c["input"_arg], v);
    return {std::move(input), Tensor(), std::move(grad_output)};
  }
  static constexpr auto jvp = tenon::multilinear;
};

}  // namespace
TENON_OP(Conv2d)
TENON_OP(Conv2dInput)
TENON_OP(Conv2dWeight)
