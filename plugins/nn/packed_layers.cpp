// Layers by packed weights, for prepared models: linear and conv1d with their bias and ReLU, in one pass. Rewrites pack
// constant weights once.
#include <tuple>

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

// Windows of an STFT are shorter than its frames: taps at both ends are zeros.
struct PackTaps {
  static constexpr auto schema =
      "nn.functional.pack_taps(Tensor weight) -> (Tensor panels, Tensor taps)";
  static constexpr auto samples =
      R"([{"weight": {"shape": [3, 2, 4], "requires_grad": false}},
          {"weight": {"values": [[[0, 0, 1, 2, 0]], [[0, 0, 0, 3, 0]]], "requires_grad": false}}])";
  static constexpr bool data_dependent_shape = true;
  static constexpr auto doc =
      "The weight of a conv1d layer, [features, channels, kernel], as conv1d_packed reads it: the "
      "panels of pack_features for the taps from the first to the last that is not 0 for each "
      "feature, and taps, i64 [first, count].";

  static std::tuple<Tensor, Tensor> forward(const Tensor& weight) {
    check_floating("pack_taps", "weight", weight);
    if (weight.dim() != 3) {
      throw tenon::ValueError(
          "pack_taps(): 'weight' must have shape [features, channels, kernel], got " +
          shape_text(weight));
    }
    const Tensor w = dense(weight);
    const int64_t taps = w.shape()[2], lines = taps == 0 ? 0 : w.numel() / taps;
    int64_t first = taps, end = 0;
    visit_floating(w.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* line = kernel::elements<const T>(w);
      for (int64_t i = 0; i < lines; ++i, line += taps) {
        int64_t from = 0, to = taps;
        while (from < first && line[from] == 0) ++from;
        while (to > end && line[to - 1] == 0) --to;
        first = std::min(first, from);
        end = std::max(end, to);
      }
    });
    const int64_t count = std::max<int64_t>(0, end - first);
    Tensor range = tenon::empty_tensor({2}, tenon::i64);
    auto* const numbers = kernel::elements<int64_t>(range);
    numbers[0] = count == 0 ? 0 : first;
    numbers[1] = count;
    return {PackFeatures::forward(tenon::narrow(w, 2, numbers[0], count)), std::move(range)};
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
    if (!input.is_contiguous() || !panels.is_contiguous() ||
        (bias.defined() && !bias.is_contiguous()))
      return forward(dense(input), dense(panels), features, bias.defined() ? dense(bias) : bias,
                     relu);
    Tensor result = shape_rule(input, panels, features, bias, relu);
    if (result.numel() == 0) return result;
    const int64_t depth = panels.shape()[1];
    visit_floating(input.dtype(), [&](auto zero) {
      using T = decltype(zero);
      PackedProduct<T>{kernel::elements<const T>(input),
                       depth,
                       result.numel() / features,
                       kernel::elements<const T>(panels),
                       depth,
                       features,
                       elements_or_null<T>(bias),
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
      "Tensor? bias=None, bool relu=False, int[1] stride=1, any padding=0, Tensor? taps=None) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 2, 5], "requires_grad": false}, "features": 3, "kernel_size": 3, "stride": 2, "padding": 1, "relu": true,
           "panels": {"shape": [1, 6, 32], "requires_grad": false}},
          {"input": {"shape": [1, 9], "requires_grad": false}, "features": 33, "kernel_size": 4,
           "bias": {"shape": [33], "requires_grad": false},
           "panels": {"shape": [2, 4, 32], "requires_grad": false}},
          {"input": {"shape": [2, 2, 6], "requires_grad": false}, "features": 3, "kernel_size": 4, "padding": 1,
           "panels": {"shape": [1, 4, 32], "requires_grad": false}, "taps": {"values": [1, 2], "dtype": "i64"}}])";
  static constexpr auto doc =
      "conv1d by a weight that pack_features has packed, or pack_taps, which gives taps, then relu "
      "where that is True.";

  static Tensor shape_rule(const Tensor& input, const Tensor& panels, int64_t features,
                           int64_t kernel_size, const Tensor& bias, bool, IntList stride,
                           const Argument& padding, const Tensor& taps) {
    return tenon::empty_tensor(
        convolution(input, panels, features, kernel_size, bias, stride, padding, taps)
            .output_shape(),
        input.dtype());
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& panels, int64_t features,
                               int64_t kernel_size, const Tensor& bias, bool, IntList stride,
                               const Argument& padding, const Tensor& taps) {
    const Convolution k =
        convolution(input, panels, features, kernel_size, bias, stride, padding, taps);
    return k.batch * features * panels.shape()[1] * k.positions();
  }
  static Tensor forward(const Tensor& input, const Tensor& panels, int64_t features,
                        int64_t kernel_size, const Tensor& bias, bool relu, IntList stride,
                        const Argument& padding, const Tensor& taps) {
    const Convolution k =
        convolution(input, panels, features, kernel_size, bias, stride, padding, taps);
    const Taps used = taps_of(taps, kernel_size, k.channels, panels.shape()[1]);
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
          const int64_t step = k.patches.stride[2] * k.channels;
          T* const to = kernel::elements<T>(result) + n * features * positions;
          PackedProduct<T>{rows + used.first * k.channels,
                           step,
                           positions,
                           kernel::elements<const T>(p),
                           used.count * k.channels,
                           features,
                           elements_or_null<T>(b),
                           relu,
                           to,
                           1,
                           positions}
              .run();
          if (used.count < kernel_size)
            kernel::run_by_registers<NanOf<T>::template By>(
                rows, step, positions, used.first * k.channels,
                (used.first + used.count) * k.channels, kernel_size * k.channels, to, features);
        }
      });
    });
    return result;
  }

 private:
  static Convolution convolution(const Tensor& input, const Tensor& panels, int64_t features,
                                 int64_t kernel_size, const Tensor& bias, IntList stride,
                                 const Argument& padding, const Tensor& taps) {
    constexpr auto op = "conv1d_packed";
    check_setting(op, "kernel_size", kernel_size, 1);
    const int64_t channels = input.dim() < 2 ? 1 : input.size(-2);
    const int64_t weight[] = {features, channels, kernel_size}, dilation[] = {1};
    const Convolution k(op, input.dtype(), input.shape(), IntList(weight, 3), stride, padding,
                        IntList(dilation, 1), 1);
    int64_t depth = k.depth();
    if (taps.defined() && panels.dim() == 3 && channels > 0 && panels.shape()[1] <= depth)
      depth = panels.shape()[1] / channels * channels;
    check_panels(op, input, panels, features, depth, bias);
    if (taps.defined() && (taps.dtype() != tenon::i64 || taps.numel() != 2)) {
      throw tenon::ValueError("conv1d_packed(): 'taps' must be i64 of shape [2], got " +
                              std::string(tenon::dtype_text(taps.dtype())) + shape_text(taps));
    }
    return k;
  }
  // Taps of the kernel that the panels have; the others are zeros.
  struct Taps {
    int64_t first, count;
  };
  static Taps taps_of(const Tensor& taps, int64_t kernel_size, int64_t channels, int64_t depth) {
    if (!taps.defined()) return {0, kernel_size};
    const Tensor whole = dense(taps);
    const auto* const numbers = kernel::elements<const int64_t>(whole);
    const Taps used{numbers[0], numbers[1]};
    if (used.first < 0 || used.count < 0 || used.first > kernel_size - used.count ||
        used.count * channels != depth) {
      throw tenon::ValueError(
          "conv1d_packed(): 'taps' are [" + std::to_string(used.first) + ", " +
          std::to_string(used.count) + "], which is not what pack_taps returns for a kernel of " +
          std::to_string(kernel_size) + " and panels of " + std::to_string(depth) + " terms");
    }
    return used;
  }
  // Zero times an infinity or a NaN is NaN: results at positions that have one under a tap that is left out.
  template <class T>
  struct NanOf {
    template <int Bytes>
    struct By {
      using V = kernel::Vector<T, Bytes>;
      // Terms [begin, end) of a row are those that are not left out.
      TENON_INLINE static void run(const T* rows, int64_t step, int64_t positions, int64_t begin,
                                   int64_t end, int64_t depth, T* to, int64_t features) {
        for (int64_t i = 0; i < positions; ++i) {
          const T* const row = rows + i * step;
          V lanes{};
          const T rest = add_zeros(lanes, row, begin) + add_zeros(lanes, row + end, depth - end),
                  sum = rest + kernel::add_lanes<T, Bytes>(lanes);
          if (sum == 0) continue;
          for (int64_t f = 0; f < features; ++f) to[f * positions + i] = sum;
        }
      }
      TENON_INLINE static T add_zeros(V& lanes, const T* from, int64_t count) {
        constexpr auto N = static_cast<int64_t>(sizeof(V) / sizeof(T));
        int64_t i = 0;
        V v;
        for (; i + N <= count; i += N) {
          kernel::detail::load_vector(v, from + i);
          lanes += v * T{0};
        }
        T rest = 0;
        for (; i < count; ++i) rest += from[i] * T{0};
        return rest;
      }
    };
  };
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
TENON_OPS(PackFeatures, PackTaps, LinearPacked, Conv1dPacked)
