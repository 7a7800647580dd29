// Pools with NaN as ONNX Runtime computes them.
#include <limits>

#include "ops/window.hpp"

namespace {

using namespace onnx;
using tenon::arg, tenon::Op;

// The smallest number of a dtype, which its kernels begin with.
double lowest_of(const Tensor& x) {
  return x.dtype() == tenon::f64 ? std::numeric_limits<double>::lowest()
                                 : std::numeric_limits<float>::lowest();
}

Tensor without_nan(const Tensor& x, double number) {
  return tenon::where(tenon::isnan(x), number_like(x, number), x);
}

// The index in the whole tensor of the first element of each window.
Tensor first_of(const Tensor& x, const Window& window, bool columns) {
  const auto rank = static_cast<int64_t>(window.rank());
  const auto along = [&](const std::vector<int64_t>& places, int64_t dim, int64_t stride) {
    std::vector<int64_t> shape(static_cast<size_t>(rank) + 2, 1);
    shape[static_cast<size_t>(dim)] = static_cast<int64_t>(places.size());
    return tenon::from_range(places.begin(), places.end()).reshape(list_of(shape)) * stride;
  };
  int64_t plane = 1;
  for (int64_t i = 0; i < rank; ++i) plane *= x.size(i + 2);
  std::vector<int64_t> planes(static_cast<size_t>(x.size(0) * x.size(1)));
  for (size_t i = 0; i < planes.size(); ++i) planes[i] = static_cast<int64_t>(i);
  std::vector<int64_t> shape(static_cast<size_t>(rank) + 2, 1);
  shape[0] = x.size(0);
  shape[1] = x.size(1);
  Tensor index = tenon::from_range(planes.begin(), planes.end()).reshape(list_of(shape)) * plane;
  int64_t stride = 1;
  for (int64_t k = 0; k < rank; ++k) {
    const int64_t i = columns ? k : rank - 1 - k;
    const auto at = static_cast<size_t>(i);
    std::vector<int64_t> places;
    for (int64_t o = 0; o < window.outputs[at]; ++o) {
      int64_t place = o * window.stride[at] - window.begin[at];
      while (place < 0) place += window.dilation[at];
      places.push_back(place);
    }
    index = index + along(places, i + 2, stride);
    stride *= x.size(i + 2);
  }
  return index;
}

struct RuntimeMaxPool {
  static constexpr auto schema =
      "onnx._runtime.max_pool(Tensor X, *, int[] kernel_shape, str auto_pad='NOTSET', bool "
      "ceil_mode=False, int[]? dilations=None, int[]? pads=None, int storage_order=0, int[]? "
      "strides=None, int outputs=1) -> (Tensor Y, Tensor? Indices)";
  static constexpr auto samples =
      R"([{"X": {"shape": [1, 2, 5]}, "kernel_shape": [3], "strides": [2], "pads": [1, 0], "outputs": 2}])";
  static constexpr auto doc =
      "onnx.max_pool where NaN counts only at the beginning of a window, and never in f32 without "
      "dilations and Indices, where nothing is below the smallest number. In two and more "
      "dimensions the width of vectors decides there, and NaN counts as in onnx.max_pool.";
  static constexpr bool composite = true;
  static std::tuple<Tensor, Tensor> forward(const Tensor& x, IntList kernel_shape,
                                            std::string_view auto_pad, bool ceil_mode,
                                            std::optional<IntList> dilations,
                                            std::optional<IntList> pads, int64_t storage_order,
                                            std::optional<IntList> strides, int64_t outputs) {
    static const Op op("onnx.max_pool");
    const auto pool = [&](const Tensor& input, int64_t count) {
      return op.call<std::tuple<Tensor, Tensor>>(
          input, arg("kernel_shape") = kernel_shape, arg("auto_pad") = auto_pad,
          arg("ceil_mode") = ceil_mode, arg("dilations") = Argument(dilations),
          arg("pads") = Argument(pads), arg("storage_order") = storage_order,
          arg("strides") = Argument(strides), arg("outputs") = count);
    };
    const Window window =
        window_of(x, kernel_shape, {auto_pad, strides, pads, dilations, ceil_mode});
    const bool dilated = std::any_of(window.dilation.begin(), window.dilation.end(),
                                     [](int64_t step) { return step != 1; });
    if (!tenon::is_floating(x.dtype())) return pool(x, outputs);
    if (x.dtype() == tenon::f32 && outputs < 2 && !dilated) {
      if (window.rank() > 1) return pool(x, outputs);
      const double lowest = lowest_of(x);
      const auto largest = std::get<0>(pool(without_nan(x, lowest), 1));
      return {tenon::clamp(largest, lowest, tenon::none), Tensor()};
    }
    const auto [largest, places] =
        pool(without_nan(x, -std::numeric_limits<double>::infinity()), outputs);
    const Tensor flat = x.reshape({-1});
    const auto elements = [&](const Tensor& at) {
      return tenon::index_select(flat, 0, at.reshape({-1})).reshape(at.shape());
    };
    const Tensor first = elements(first_of(x, window, false).expand(largest.shape()));
    const Tensor starts = tenon::isnan(first);
    if (outputs < 2) return {tenon::where(starts, first, largest), Tensor()};
    return {tenon::where(starts, first, largest),
            tenon::where(starts, first_of(x, window, storage_order != 0), places)};
  }
};

}  // namespace
TENON_OP(RuntimeMaxPool)
