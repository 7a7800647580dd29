// Pools with ONNX's padding.
#include <limits>

#include "window.hpp"

namespace {

using namespace onnx;

// Padding that the ops of nn take: the same at both ends, at most half of the kernel.
bool is_plain(const Window& window) {
  bool plain = window.is_symmetric();
  for (size_t i = 0; i < window.rank(); ++i)
    plain = plain && 2 * window.begin[i] <= window.kernel[i];
  return plain;
}

// The input with all that its windows reach.
Tensor reached(const Tensor& input, const Window& window, const Scalar& value) {
  std::vector<int64_t> end = window.end;
  for (size_t i = 0; i < window.rank(); ++i)
    end[i] += window.missing(i, input.shape()[static_cast<int64_t>(i) + 2]);
  return padded(input, window.begin, end, value);
}

// Sums of each window of an input with padding of zeros.
Tensor window_sums(const Tensor& input, const Window& window) {
  std::vector<int64_t> one{input.shape()[0] * input.shape()[1], 1};
  one.insert(one.end(), input.shape().begin() + 2, input.shape().end());
  std::vector<int64_t> kernel{1, 1};
  kernel.insert(kernel.end(), window.kernel.begin(), window.kernel.end());
  const std::vector<int64_t> none(window.rank(), 0);
  const auto sums =
      tenon::Op(family_name("nn.functional.conv", window.rank()))
          .call<Tensor>(input.reshape(list_of(one)), tenon::ones(list_of(kernel), input.dtype()),
                        Tensor(), window.stride, none, window.dilation, int64_t{1});
  std::vector<int64_t> shape{input.shape()[0], input.shape()[1]};
  shape.insert(shape.end(), sums.shape().begin() + 2, sums.shape().end());
  return cropped(sums.reshape(list_of(shape)), window.outputs);
}

struct AveragePool {
  static constexpr auto schema =
      "onnx.average_pool(Tensor X, *, int[] kernel_shape, str auto_pad='NOTSET', bool "
      "ceil_mode=False, bool count_include_pad=False, int[]? dilations=None, int[]? pads=None, "
      "int[]? strides=None) -> Tensor";
  static constexpr auto samples =
      R"([{"X": {"shape": [1, 2, 5]}, "kernel_shape": [3], "strides": [2], "pads": [1, 0], "ceil_mode": true}])";
  static constexpr auto doc =
      "The mean of each window; padding counts with count_include_pad, what is beyond it never.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, IntList kernel_shape, std::string_view auto_pad,
                        bool ceil_mode, bool count_include_pad, std::optional<IntList> dilations,
                        std::optional<IntList> pads, std::optional<IntList> strides) {
    const Window window =
        window_of(x, kernel_shape, {auto_pad, strides, pads, dilations, ceil_mode});
    const bool dilated = std::any_of(window.dilation.begin(), window.dilation.end(),
                                     [](int64_t step) { return step != 1; });
    if (is_plain(window) && !ceil_mode && !dilated) {
      return tenon::Op(family_name("nn.functional.avg_pool", window.rank()))
          .call<Tensor>(x, window.kernel, window.stride, window.begin, false, count_include_pad);
    }
    std::vector<int64_t> plane{1, 1};
    plane.insert(plane.end(), x.shape().begin() + 2, x.shape().end());
    Tensor counted = tenon::ones(list_of(plane), x.dtype());
    if (count_include_pad) {
      counted = padded(counted, window.begin, window.end, 1);
      const std::vector<int64_t> none(window.rank(), 0);
      std::vector<int64_t> beyond;
      for (size_t i = 0; i < window.rank(); ++i)
        beyond.push_back(window.missing(i, x.shape()[static_cast<int64_t>(i) + 2]));
      counted = padded(counted, none, beyond, 0);
    } else {
      counted = reached(counted, window, 0);
    }
    return window_sums(reached(x, window, 0), window) / window_sums(counted, window);
  }
};

struct LpPool {
  static constexpr auto schema =
      "onnx.lp_pool(Tensor X, *, int[] kernel_shape, str auto_pad='NOTSET', bool ceil_mode=False, "
      "int[]? dilations=None, float p=2, int[]? pads=None, int[]? strides=None) -> Tensor";
  static constexpr auto samples = R"([{"X": {"shape": [1, 2, 5]}, "kernel_shape": [3]}])";
  static constexpr auto doc = "The p-norm of each window.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, IntList kernel_shape, std::string_view auto_pad,
                        bool ceil_mode, std::optional<IntList> dilations, double p,
                        std::optional<IntList> pads, std::optional<IntList> strides) {
    const Window window =
        window_of(x, kernel_shape, {auto_pad, strides, pads, dilations, ceil_mode});
    const std::vector<int64_t> none(window.rank(), 0);
    const auto norms = tenon::Op(family_name("nn.functional.lp_pool", window.rank()))
                           .call<Tensor>(reached(x, window, 0), p, window.kernel, window.stride,
                                         none, window.dilation);
    return cropped(norms, window.outputs);
  }
};

struct MaxPool {
  static constexpr auto schema =
      "onnx.max_pool(Tensor X, *, int[] kernel_shape, str auto_pad='NOTSET', bool ceil_mode=False, "
      "int[]? dilations=None, int[]? pads=None, int storage_order=0, int[]? strides=None, int "
      "outputs=1) -> (Tensor Y, Tensor? Indices)";
  static constexpr auto samples =
      R"([{"X": {"shape": [1, 2, 5]}, "kernel_shape": [3], "strides": [2], "pads": [1, 0], "outputs": 2}])";
  static constexpr auto doc =
      "The largest element of each window and, with two outputs, its index in the whole tensor.";
  static constexpr bool composite = true;
  static std::tuple<Tensor, Tensor> forward(const Tensor& x, IntList kernel_shape,
                                            std::string_view auto_pad, bool ceil_mode,
                                            std::optional<IntList> dilations,
                                            std::optional<IntList> pads, int64_t storage_order,
                                            std::optional<IntList> strides, int64_t outputs) {
    const Window window =
        window_of(x, kernel_shape, {auto_pad, strides, pads, dilations, ceil_mode});
    // Ops of nn pool floating-point numbers.
    const bool convert = !tenon::is_floating(x.dtype());
    Tensor input = convert ? x.to(tenon::f64) : x;
    const bool plain = is_plain(window);
    if (!plain) input = reached(input, window, -std::numeric_limits<double>::infinity());
    const std::vector<int64_t> none(window.rank(), 0);
    const std::vector<int64_t>& padding = plain ? window.begin : none;
    const bool ceil = plain && ceil_mode;
    if (outputs < 2) {
      const auto largest =
          tenon::Op(family_name("nn.functional.max_pool", window.rank()))
              .call<Tensor>(input, window.kernel, window.stride, padding, window.dilation, ceil);
      const Tensor result = cropped(largest, window.outputs);
      return {convert ? result.to(x.dtype()) : result, Tensor()};
    }
    auto [largest, places] =
        tenon::Op(family_name("nn.functional.max_pool", window.rank(), "_with_indices"))
            .call<std::tuple<Tensor, Tensor>>(input, window.kernel, window.stride, padding,
                                              window.dilation, ceil);
    const Tensor result = cropped(largest, window.outputs);
    return {convert ? result.to(x.dtype()) : result,
            in_tensor(cropped(places, window.outputs), x, input, plain ? none : window.begin,
                      storage_order)};
  }

 private:
  // Indices within the plane of the pooled input, as indices of the whole tensor.
  static Tensor in_tensor(const Tensor& places, const Tensor& x, const Tensor& input,
                          const std::vector<int64_t>& begin, int64_t storage_order) {
    const size_t rank = begin.size();
    Tensor rest = places, index = tenon::zeros_like(places);
    int64_t stride = 1, plane = 1;
    std::vector<int64_t> strides(rank);
    for (size_t i = 0; i < rank; ++i) plane *= x.shape()[static_cast<int64_t>(i) + 2];
    for (size_t k = 0; k < rank; ++k) {
      const size_t i = storage_order != 0 ? k : rank - 1 - k;
      strides[i] = stride;
      stride *= x.shape()[static_cast<int64_t>(i) + 2];
    }
    for (size_t i = rank; i-- > 0;) {
      const int64_t size = input.shape()[static_cast<int64_t>(i) + 2];
      const Tensor coordinate = tenon::remainder(rest, size) - begin[i];
      rest = tenon::floor_divide(rest, size);
      index = index + coordinate * strides[i];
    }
    std::vector<int64_t> shape(rank + 2, 1);
    shape[0] = x.shape()[0];
    shape[1] = x.shape()[1];
    const Tensor planes =
        tenon::arange(shape[0] * shape[1], tenon::none, 1, tenon::i64).reshape(list_of(shape));
    return index + planes * plane;
  }
};

std::vector<int64_t> spatial_axes(const Tensor& x) {
  std::vector<int64_t> axes = all_axes(x.dim());
  axes.erase(axes.begin(), axes.begin() + std::min<int64_t>(2, x.dim()));
  return axes;
}

struct GlobalPool {
  static constexpr auto schema =
      "onnx.global_pool(Tensor X, *, str kind='average', float p=2) -> Tensor";
  static constexpr auto samples = R"([{"X": {"shape": [2, 3, 4]}, "kind": "max"}])";
  static constexpr auto doc = "The average, max or p-norm (kind lp) of each plane.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, std::string_view kind, double p) {
    const std::vector<int64_t> axes = spatial_axes(x);
    if (axes.empty()) return x.clone();
    if (kind == "max") return tenon::amax(x, axes, true);
    if (kind == "lp") return tenon::vector_norm(x, p, axes, true);
    if (kind == "average") return tenon::mean(x, axes, true);
    throw tenon::ValueError("onnx.global_pool(): 'kind' is '" + std::string(kind) +
                            "'; there are average, max and lp");
  }
};

}  // namespace
TENON_OP(AveragePool)
TENON_OP(LpPool)
TENON_OP(MaxPool)
TENON_OP(GlobalPool)
