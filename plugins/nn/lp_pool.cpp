// lp_pool1d, lp_pool2d and lp_pool3d: the norm of each window.
#include <cmath>

#include "pooling.hpp"

namespace {

using namespace nn;

// The windows of `input` in as many dimensions more, one for each spatial dimension; zeros beyond.
Tensor windows_of(const Tensor& input, const Windows& w) {
  const int64_t rank = input.dim(), first = rank - w.dimensions;
  std::vector<int64_t> pads;
  for (int d = 2; d >= 3 - w.dimensions; --d) {
    const int64_t reach = w.dilation[d] * (w.kernel[d] - 1) + 1;
    const int64_t end = (w.out[d] - 1) * w.stride[d] + reach - w.padding[d];
    pads.insert(pads.end(), {w.padding[d], std::max<int64_t>(end - w.in[d], 0)});
  }
  Tensor windows = tenon::constant_pad_nd(input, pads);
  for (int64_t i = 0; i < w.dimensions; ++i) {
    const auto d = 3 - w.dimensions + i;
    const int64_t reach = w.dilation[d] * (w.kernel[d] - 1) + 1;
    windows = windows.unfold(first + i, reach, w.stride[d]).narrow(first + i, 0, w.out[d]);
    if (w.dilation[d] > 1) windows = windows.slice(-1, 0, reach, w.dilation[d]);
  }
  return windows;
}

template <int d>
struct LpPool {
  static constexpr auto name = family_text<d>("lp_pool{d}d");
  static constexpr auto schema = family_text<d>(
      "nn.functional.lp_pool{d}d(Tensor input, float norm_type, int[{d}] kernel_size, int[{d}]? "
      "stride=None, int[{d}] padding=0, int[{d}] dilation=1, bool ceil_mode=False) -> Tensor");
  static constexpr auto samples = shared_ops::family_choice<d>(
      R"([{"input": {"shape": [1, 2, 7]}, "norm_type": 2, "kernel_size": 3},
          {"input": {"shape": [2, 8]}, "norm_type": 3, "kernel_size": 2, "stride": 2, "padding": 1,
           "dilation": 2, "ceil_mode": true}])",
      R"([{"input": {"shape": [1, 2, 4, 5]}, "norm_type": 2, "kernel_size": [2, 3], "stride": 1},
          {"input": {"shape": [1, 4, 4]}, "norm_type": 1.5, "kernel_size": 2, "padding": 1}])",
      R"([{"input": {"shape": [1, 1, 3, 4, 3]}, "norm_type": 2, "kernel_size": 2, "stride": 1}])");
  static constexpr auto doc =
      "sum(|x|^p)^(1/p) of each window, where p is norm_type: without overflow, as vector_norm. "
      "The "
      "padding is 0; stride is kernel_size unless given.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, double norm_type, IntList kernel_size,
                        std::optional<IntList> stride, IntList padding, IntList dilation,
                        bool ceil_mode) {
    check_pool_input(name, input, d);
    if (!(norm_type > 0) || std::isinf(norm_type)) {
      throw tenon::ValueError(std::string(name) + "(): norm_type must be above 0 and finite, got " +
                              tenon::Scalar(norm_type).text());
    }
    const Windows windows(name, input.shape(), kernel_size, stride, padding, dilation, ceil_mode);
    std::vector<int64_t> last;
    for (int i = d; i > 0; --i) last.push_back(-i);
    return windows_of(input, windows).vector_norm(norm_type, last);
  }
};

}  // namespace
TENON_OPS_1D_TO_3D(LpPool)
