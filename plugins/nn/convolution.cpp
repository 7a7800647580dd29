// conv1d, conv2d and conv3d, each with its two gradients, a product with the unfolded input. The
// transposed convolutions are gradients for an input.
#include "shared_ops/convolution.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common.hpp"
#include "depthwise.hpp"
#include "direct_convolution.hpp"
#include "shared_ops/convolution_tail.hpp"
#include "tiled_convolution.hpp"
#include "unfolding.hpp"

namespace {

using namespace nn;

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

// Samples that are worth a thread: a million multiplications, some 50 microseconds.
int64_t grain(const Convolution& k) {
  return 1 + 1048576 / std::max<int64_t>(1, k.depth() * k.positions() * k.features);
}

// One channel for a feature or two: a product would be with a matrix of one row or two.
bool is_depthwise(const Convolution& k) {
  return k.group_channels() == 1 && k.group_features() <= 2 && k.groups > 1;
}

// Features, images or kernels of a depthwise convolution that are worth a thread.
int64_t depthwise_grain(const Convolution& k, int64_t planes) {
  return 1 + 131072 / std::max<int64_t>(1, planes * k.depth() * k.positions());
}

template <class T>
void convolve_depthwise(const Convolution& k, const Tensor& x, const Tensor& w, const Tensor& b,
                        const Tail<T>& tail, const Tensor& result) {
  const bool unit_stride = has_unit_stride(k.patches);
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
          apply_tail(tail.from(feature, i * k.positions()), to, 1, k.positions());
        }
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

// The tail of a convolution with a bias, if `bias` is not null: `first` has one factor and one term. If a bias
// times its factor is not finite, `first` adds the biases alone and `then` is the tail: an infinite factor of
// a sum is not that of its parts.
template <class T>
struct BiasedTail {
  std::vector<T> terms;
  Tail<T> first, then;

  BiasedTail(const Tail<T>& tail, const T* bias, int64_t features) : first(tail) {
    if (bias == nullptr) return;
    bool finite = true;
    for (int64_t f = 0; f < features; ++f) {
      const T product = bias[f] * tail.factor_of(f);
      finite = finite && std::isfinite(product);
      terms.push_back(product + tail.term_of(f));
    }
    first.term = finite ? terms.data() : bias;
    if (finite) return;
    first.factor = first.addend = nullptr;
    first.relu = false;
    then = tail;
  }
};

// Each sample's products, then their bias and tail while they are in the cache.
template <class T>
void convolve_by_products(const Convolution& k, const Tensor& x, const Tensor& w, const T* bias,
                          const Tail<T>& tail, const Tensor& result) {
  const BiasedTail<T> whole(tail, bias, k.features);
  tenon::parallel_for(0, k.batch, grain(k), [&](int64_t begin, int64_t end) {
    const tenon::NoGrad no_grad;  // recording is each thread's own matter
    Tensor columns;
    if (!k.is_pointwise())
      columns = tenon::empty_tensor({k.depth(), k.positions()}, result.dtype());
    for (int64_t n = begin; n < end; ++n) {
      for (int64_t g = 0; g < k.groups; ++g) {
        const int64_t first = n * k.features + g * k.group_features();
        tenon::mm(matrix(w, k.group_features(), k.depth(), g * k.group_features() * k.depth()),
                  unfolded<T>(k, x, n, g, columns),
                  matrix(result, k.group_features(), k.positions(), first * k.positions()));
      }
      const int64_t at = n * k.features * k.positions();
      T* const to = kernel::elements<T>(result) + at;
      apply_tail(whole.first.from(0, at), to, k.features, k.positions());
      apply_tail(whole.then.from(0, at), to, k.features, k.positions());
    }
  });
}

template <class T>
void convolve_by_tiles(const Convolution& k, const Tensor& x, const Tensor& w, const T* bias,
                       const Tail<T>& tail, const Tensor& result) {
  const BiasedTail<T> whole(tail, bias, k.features);
  const TiledConvolution<T> tiles(k);
  const int64_t features = k.group_features(), depth = k.depth();
  tenon::parallel_for(0, k.batch, grain(k), [&](int64_t begin, int64_t end) {
    const Tensor memory = tenon::empty_tensor({tiles.scratch()}, result.dtype());
    T* const scratch = kernel::elements<T>(memory);
    std::fill_n(scratch, tiles.scratch(), T{0});
    for (int64_t n = begin; n < end; ++n) {
      for (int64_t g = 0; g < k.groups; ++g) {
        const int64_t feature = g * features, at = (n * k.features + feature) * k.positions();
        const T* const image = kernel::elements<const T>(x) +
                               (n * k.channels + g * k.group_channels()) * k.input_plane();
        tiles.run(tiles.arrange(image, scratch), kernel::elements<const T>(w) + feature * depth,
                  whole.first.from(feature, at), kernel::elements<T>(result) + at);
      }
      const int64_t at = n * k.features * k.positions();
      apply_tail(whole.then.from(0, at), kernel::elements<T>(result) + at, k.features,
                 k.positions());
    }
  });
}

template <class T>
void convolve_directly(const Convolution& k, const Tensor& x, const Tensor& w, const T* bias,
                       const Tail<T>& tail, const Tensor& result) {
  const BiasedTail<T> whole(tail, bias, k.features);
  const DirectConvolution<T> direct(k, kernel::elements<const T>(w));
  tenon::parallel_for(0, k.batch, grain(k), [&](int64_t begin, int64_t end) {
    std::vector<T> scratch(static_cast<size_t>(direct.scratch()));
    for (int64_t n = begin; n < end; ++n) {
      const int64_t at = n * k.features * k.positions();
      T* const to = kernel::elements<T>(result) + at;
      direct.run(kernel::elements<const T>(x) + n * k.channels * k.input_plane(),
                 whole.first.from(0, at), to, scratch.data());
      apply_tail(whole.then.from(0, at), to, k.features, k.positions());
    }
  });
}

// The kernels: each a product with the unfolded input, but for depthwise ones and those of few products
// for each element.
struct Unfolding {
  static Tensor convolve(const Convolution& k, const Tensor& input, const Tensor& weight,
                         const Tensor& bias) {
    const Tensor none;
    return convolve(k, input, weight, bias, {none, none, none, false});
  }
  // The tail's operands are of the input's dtype.
  static Tensor convolve(const Convolution& k, const Tensor& input, const Tensor& weight,
                         const Tensor& bias, const TailOperands& tail) {
    Tensor result = tenon::empty_tensor(k.output_shape(), input.dtype());
    if (result.numel() == 0) return result;
    const auto dense_or_none = [](const Tensor& x) { return x.defined() ? dense(x) : x; };
    const Tensor x = dense(input), w = dense(weight), b = dense_or_none(bias);
    const Tensor factor = dense_or_none(tail.factor), term = dense_or_none(tail.term),
                 addend = dense_or_none(tail.addend);
    visit_floating(input.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const auto elements = [](const Tensor& t) {
        return t.defined() ? kernel::elements<const T>(t) : nullptr;
      };
      const Tail<T> all{elements(factor), elements(term), elements(addend), tail.relu};
      if (is_depthwise(k))
        convolve_depthwise<T>(k, x, w, b, all, result);
      else if (DirectConvolution<T>::takes(k))
        convolve_directly<T>(k, x, w, elements(b), all, result);
      else if (TiledConvolution<T>::takes(k))
        convolve_by_tiles<T>(k, x, w, elements(b), all, result);
      else
        convolve_by_products<T>(k, x, w, elements(b), all, result);
    });
    return result;
  }

  static Tensor input_gradient(const Convolution& k, const Tensor& weight,
                               const Tensor& grad_output) {
    Tensor result = tenon::empty_tensor(k.input_shape(), weight.dtype());
    tenon::fill_elements(result, 0);
    if (result.numel() == 0 || grad_output.numel() == 0) return result;
    const Tensor w = dense(weight), go = dense(grad_output);
    if (Patches back; is_depthwise(k) && turned(k.patches, back)) {
      input_gradient_depthwise(k, back, w, go, result);
      return result;
    }
    visit_floating(weight.dtype(), [&](auto zero) {
      using T = decltype(zero);
      tenon::parallel_for(0, k.batch, grain(k), [&](int64_t begin, int64_t end) {
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

  static Tensor weight_gradient(const Convolution& k, const Tensor& input,
                                const Tensor& grad_output, IntList weight_size) {
    Tensor result = tenon::empty_tensor(weight_size, input.dtype());
    tenon::fill_elements(result, 0);
    if (result.numel() == 0 || grad_output.numel() == 0) return result;
    const Tensor x = dense(input), go = dense(grad_output);
    if (is_depthwise(k)) {
      weight_gradient_depthwise(k, x, go, result);
      return result;
    }
    // A fixed number of partial sums, whatever the threads, so that the result is the same.
    const int64_t parts = std::min({int64_t{8}, k.batch, 1 + k.batch / grain(k)});
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
};

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

template <int d>
struct ConvSamples {
  static constexpr auto samples = family_choice<d>(
      R"([{"input": {"shape": [2, 2, 4]}, "weight": {"shape": [3, 2, 2]}, "bias": {"shape": [3]}},
          {"input": {"shape": [2, 5]}, "weight": {"shape": [2, 1, 2]}, "stride": 2, "padding": 1, "dilation": 2, "groups": 2}])",
      nullptr,
      R"([{"input": {"shape": [1, 2, 2, 3, 3]}, "weight": {"shape": [2, 2, 2, 2, 2]}, "bias": {"shape": [2]}},
          {"input": {"shape": [2, 2, 2, 3]}, "weight": {"shape": [2, 1, 1, 2, 2]}, "stride": [1, 2, 1], "padding": [0, 1, 0], "groups": 2}])");
};
template <>
struct ConvSamples<2> {};

template <int d>
struct Conv : ConvDeclaration<d>, ConvRules<Conv<d>, Unfolding>, ConvSamples<d> {};
struct Conv2dTail : ConvTailRules<Conv2dTail, Unfolding> {
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 2, 4, 3]}, "weight": {"shape": [3, 2, 2, 2]}, "bias": {"shape": [3]},
           "factor": {"shape": [3]}, "term": {"shape": [3]}, "addend": {"shape": [2, 3, 3, 2]}},
          {"input": {"shape": [2, 2, 4, 4]}, "weight": {"shape": [2, 2, 3, 3]}, "factor": {"shape": [2]},
           "term": {"shape": [2]}, "relu": true, "padding": 1},
          {"input": {"shape": [2, 4, 4]}, "weight": {"shape": [2, 1, 2, 2]}, "stride": 2, "padding": 1, "groups": 2,
           "bias": {"shape": [2]}, "addend": {"shape": [2, 3, 3]}, "relu": true}])";
};
template <int d>
struct ConvInput : ConvInputDeclaration<d>, ConvInputRules<ConvInput<d>, Unfolding> {
  static constexpr auto samples = family_choice<d>(
      R"([{"input_size": [1, 2, 4], "weight": {"shape": [3, 2, 3]}, "grad_output": {"shape": [1, 3, 2]}},
          {"input_size": [2, 4], "weight": {"shape": [2, 1, 2]}, "stride": 2, "padding": 1, "groups": 2,
           "grad_output": {"shape": [2, 3]}}])",
      R"([{"input_size": [1, 2, 4, 4], "weight": {"shape": [3, 2, 3, 3]},
           "grad_output": {"shape": [1, 3, 2, 2]}},
          {"input_size": [2, 4, 4], "weight": {"shape": [2, 1, 2, 2]}, "stride": 2, "padding": 1, "groups": 2,
           "grad_output": {"shape": [2, 3, 3]}}])",
      R"([{"input_size": [1, 2, 2, 3, 3], "weight": {"shape": [2, 2, 2, 2, 2]}, "grad_output": {"shape": [1, 2, 1, 2, 2]}}])");
};
template <int d>
struct ConvWeight : ConvWeightDeclaration<d>, ConvWeightRules<ConvWeight<d>, Unfolding> {
  static constexpr auto samples = family_choice<d>(
      R"([{"input": {"shape": [2, 2, 4]}, "weight_size": [3, 2, 2], "grad_output": {"shape": [2, 3, 3]}}])",
      R"([{"input": {"shape": [2, 2, 4, 3]}, "weight_size": [3, 2, 2, 1],
           "grad_output": {"shape": [2, 3, 3, 3]}},
          {"input": {"shape": [2, 4, 4]}, "weight_size": [2, 1, 2, 2], "stride": 2, "padding": 1, "groups": 2,
           "grad_output": {"shape": [2, 3, 3]}}])",
      R"([{"input": {"shape": [1, 2, 2, 3, 3]}, "weight_size": [2, 2, 2, 2, 2], "grad_output": {"shape": [1, 2, 1, 2, 2]}}])");
};

template <int d>
struct ConvTranspose {
  static constexpr auto name = family_text<d>("conv_transpose{d}d");
  static constexpr auto schema = family_text<d>(
      "nn.functional.conv_transpose{d}d(Tensor input, Tensor weight, Tensor? bias=None, int[{d}] "
      "stride=1, int[{d}] padding=0, int[{d}] output_padding=0, int groups=1, int[{d}] dilation=1) "
      "-> Tensor");
  static constexpr auto samples = family_choice<d>(
      R"([{"input": {"shape": [1, 2, 3]}, "weight": {"shape": [2, 2, 2]}, "bias": {"shape": [2]}, "stride": 2, "output_padding": 1},
          {"input": {"shape": [2, 3]}, "weight": {"shape": [2, 1, 3]}, "padding": 1, "groups": 2}])",
      R"([{"input": {"shape": [1, 2, 2, 3]}, "weight": {"shape": [2, 2, 2, 2]}, "bias": {"shape": [2]}, "stride": [2, 1], "output_padding": [1, 0]},
          {"input": {"shape": [2, 2, 2]}, "weight": {"shape": [2, 1, 2, 2]}, "padding": 1, "groups": 2, "dilation": 2}])",
      R"([{"input": {"shape": [1, 2, 1, 2, 2]}, "weight": {"shape": [2, 1, 2, 2, 1]}, "bias": {"shape": [1]}, "stride": [1, 2, 1]}])");
  static constexpr auto doc = family_text<d>(
      "The transpose of conv{d}d as a map of its input: each element of "
      "{rows [N, C, W] or [C, W]|images [N, C, H, W] or [C, H, W]|"
      "volumes [N, C, D, H, W] or [C, D, H, W]} is spread over the output by the kernels of "
      "weight, [C, features / groups, ...].");
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        IntList stride, IntList padding, IntList output_padding, int64_t groups,
                        IntList dilation) {
    return conv_transpose(name, input, weight, bias, stride, padding, output_padding, groups,
                          dilation);
  }
};

}  // namespace
TENON_OP(Conv2dTail)
TENON_OPS_1D_TO_3D(Conv)
TENON_OPS_1D_TO_3D(ConvInput)
TENON_OPS_1D_TO_3D(ConvWeight)
TENON_OPS_1D_TO_3D(ConvTranspose)
