// Layers by packed weights, for prepared models: linear and conv1d with their bias and ReLU, in one pass. Rewrites pack
// constant weights once.
#include "packed_product.hpp"
#include "shared_ops/convolution.hpp"

namespace {

using namespace nn;

constexpr int64_t width = panel_features;

struct PackFeatures {
  static constexpr auto schema = "nn.functional.pack_features(Tensor weight) -> Tensor";
  static constexpr auto samples =
      R"([{"weight": {"shape": [3, 2], "requires_grad": false}}, {"weight": {"shape": [35, 2, 3], "requires_grad": false}}])";
  static constexpr auto doc =
      "The weight of a linear or conv1d layer, [features, channels, ...], as linear_packed and "
      "conv1d_packed read it: panels [panels, terms, 32] of 32 features each, the last one filled "
      "with zeros. Terms are in the order of the kernel's elements, channels innermost.";

  static Tensor shape_rule(const Tensor& weight) {
    check_floating("pack_features", "weight", weight);
    if (weight.dim() < 2) {
      throw tenon::ValueError(
          "pack_features(): 'weight' must have shape [features, channels, ...], got " +
          shape_text(weight));
    }
    int64_t depth = 1;
    for (int64_t d = 1; d < weight.dim(); ++d) depth *= weight.shape()[d];
    return tenon::empty_tensor({panels_of(weight.shape()[0]), depth, width}, weight.dtype());
  }
  static Tensor forward(const Tensor& weight) {
    Tensor result = shape_rule(weight);
    if (result.numel() == 0) return result;
    const Tensor w = dense(weight);
    const int64_t features = w.shape()[0], channels = w.shape()[1], depth = result.shape()[1],
                  area = depth / channels;
    visit_floating(w.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* const from = kernel::elements<const T>(w);
      T* const to = kernel::elements<T>(result);
      std::fill_n(to, result.numel(), T{0});
      for (int64_t f = 0; f < features; ++f) {
        T* const column = to + f / width * depth * width + f % width;
        for (int64_t c = 0; c < channels; ++c) {
          for (int64_t k = 0; k < area; ++k)
            column[(k * channels + c) * width] = from[(f * channels + c) * area + k];
        }
      }
    });
    return result;
  }
};

struct LinearPacked {
  static constexpr auto schema =
      "nn.functional.linear_packed(Tensor input, Tensor panels, int features, Tensor? bias=None, "
      "bool relu=False) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "requires_grad": false}, "features": 5, "bias": {"shape": [5], "requires_grad": false}, "relu": true,
           "panels": {"shape": [1, 3, 32], "requires_grad": false}},
          {"input": {"shape": [2, 2, 3], "requires_grad": false}, "features": 33,
           "panels": {"shape": [2, 3, 32], "requires_grad": false}}])";
  static constexpr auto doc =
      "linear by a weight that pack_features has packed, then relu where that is True.";

  static Tensor shape_rule(const Tensor& input, const Tensor& panels, int64_t features,
                           const Tensor& bias, bool) {
    if (input.dim() < 1)
      throw tenon::ValueError("linear_packed(): 'input' must have a dimension of features");
    check_panels("linear_packed", input, panels, features, input.shape()[input.dim() - 1], bias);
    Shape shape(input.shape());
    shape[shape.rank - 1] = features;
    return tenon::empty_tensor(shape, input.dtype());
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor&, int64_t features, const Tensor&,
                               bool) {
    return input.numel() * features;
  }
  static Tensor forward(const Tensor& input, const Tensor& panels, int64_t features,
                        const Tensor& bias, bool relu) {
    Tensor result = shape_rule(input, panels, features, bias, relu);
    if (result.numel() == 0) return result;
    const Tensor x = dense(input), p = dense(panels), b = bias.defined() ? dense(bias) : bias;
    const int64_t depth = p.shape()[1];
    visit_floating(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      PackedProduct<T>{kernel::elements<const T>(x),
                       depth,
                       result.numel() / features,
                       kernel::elements<const T>(p),
                       depth,
                       features,
                       elements_or_null<T>(b),
                       relu,
                       kernel::elements<T>(result),
                       features,
                       1}
          .run();
    });
    return result;
  }
};

// The rows of an image's positions overlap in its transpose, [padded length, channels]: none is copied for itself.
struct Conv1dPacked {
  static constexpr auto schema =
      "nn.functional.conv1d_packed(Tensor input, Tensor panels, int features, int kernel_size, "
      "Tensor? bias=None, bool relu=False, int[1] stride=1, any padding=0) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 2, 5], "requires_grad": false}, "features": 3, "kernel_size": 3, "stride": 2, "padding": 1, "relu": true,
           "panels": {"shape": [1, 6, 32], "requires_grad": false}},
          {"input": {"shape": [1, 9], "requires_grad": false}, "features": 33, "kernel_size": 4,
           "bias": {"shape": [33], "requires_grad": false},
           "panels": {"shape": [2, 4, 32], "requires_grad": false}}])";
  static constexpr auto doc =
      "conv1d by a weight that pack_features has packed, then relu where that is True.";

  static Tensor shape_rule(const Tensor& input, const Tensor& panels, int64_t features,
                           int64_t kernel_size, const Tensor& bias, bool, IntList stride,
                           const Argument& padding) {
    return tenon::empty_tensor(
        convolution(input, panels, features, kernel_size, bias, stride, padding).output_shape(),
        input.dtype());
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& panels, int64_t features,
                               int64_t kernel_size, const Tensor& bias, bool, IntList stride,
                               const Argument& padding) {
    return convolution(input, panels, features, kernel_size, bias, stride, padding).multiply_adds();
  }
  static Tensor forward(const Tensor& input, const Tensor& panels, int64_t features,
                        int64_t kernel_size, const Tensor& bias, bool relu, IntList stride,
                        const Argument& padding) {
    const Convolution k = convolution(input, panels, features, kernel_size, bias, stride, padding);
    Tensor result = tenon::empty_tensor(k.output_shape(), input.dtype());
    if (result.numel() == 0) return result;
    const Tensor x = dense(input), p = dense(panels), b = bias.defined() ? dense(bias) : bias;
    const int64_t length = k.patches.in[2], padded = k.patches.padded(2),
                  before = k.patches.padding[2], positions = k.positions();
    visit_floating(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const bool copies = k.channels != 1 || padded != length;
      // As many samples for a thread as are worth it; one sample is shared by the product itself.
      const int64_t products =
          std::max<int64_t>(1, k.multiply_adds() / std::max<int64_t>(k.batch, 1));
      const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 20) / products);
      tenon::parallel_for(0, k.batch, grain, [&](int64_t begin, int64_t end) {
        Tensor turned;
        if (copies) turned = tenon::empty_tensor({padded, k.channels}, x.dtype());
        for (int64_t n = begin; n < end; ++n) {
          const T* rows = kernel::elements<const T>(x) + n * k.channels * length;
          if (copies) {
            turn(rows, kernel::elements<T>(turned), k.channels, length, before, padded);
            rows = kernel::elements<const T>(turned);
          }
          PackedProduct<T>{rows,
                           k.patches.stride[2] * k.channels,
                           positions,
                           kernel::elements<const T>(p),
                           k.depth(),
                           features,
                           elements_or_null<T>(b),
                           relu,
                           kernel::elements<T>(result) + n * features * positions,
                           1,
                           positions}
              .run();
        }
      });
    });
    return result;
  }

 private:
  static Convolution convolution(const Tensor& input, const Tensor& panels, int64_t features,
                                 int64_t kernel_size, const Tensor& bias, IntList stride,
                                 const Argument& padding) {
    constexpr auto op = "conv1d_packed";
    check_setting(op, "kernel_size", kernel_size, 1);
    const int64_t channels = input.dim() < 2 ? 1 : input.size(-2);
    const int64_t weight[] = {features, channels, kernel_size}, dilation[] = {1};
    const Convolution k(op, input.dtype(), input.shape(), IntList(weight, 3), stride, padding,
                        IntList(dilation, 1), 1);
    check_panels(op, input, panels, features, k.depth(), bias);
    return k;
  }
  // [channels, length] as [padded, channels], with zeros around.
  template <class T>
  static void turn(const T* from, T* to, int64_t channels, int64_t length, int64_t before,
                   int64_t padded) {
    std::fill_n(to, before * channels, T{0});
    std::fill(to + (before + length) * channels, to + padded * channels, T{0});
    T* const inside = to + before * channels;
    constexpr int64_t block = 16;
    for (int64_t first = 0; first < channels; first += block) {
      const int64_t last = std::min(channels, first + block);
      for (int64_t i = 0; i < length; ++i) {
        for (int64_t c = first; c < last; ++c) inside[i * channels + c] = from[c * length + i];
      }
    }
  }
};

}  // namespace
TENON_OPS(PackFeatures, LinearPacked, Conv1dPacked)
