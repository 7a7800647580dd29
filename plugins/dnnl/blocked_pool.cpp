// Pools of images in blocks of channels.
#include "blocked_maxima.hpp"

namespace {

using namespace nn;
using namespace onednn;

struct MaxPool2dBlocked {
  static constexpr auto schema =
      "dnnl.max_pool2d_blocked(Tensor input, int[2] kernel_size, int[2]? stride=None, int[2] "
      "padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"op": "dnnl.to_blocked", "input": {"shape": [2, 19, 6, 4], "dtype": "f32", "requires_grad": false}}, "kernel_size": 2}])";
  static constexpr auto doc =
      "nn.functional.max_pool2d of images in blocks of channels, as dnnl.to_blocked returns them.";

  static Tensor shape_rule(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                           IntList padding, IntList dilation, bool ceil_mode) {
    return empty_result(input, windows(input, kernel_size, stride, padding, dilation, ceil_mode));
  }
  static Tensor forward(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                        IntList padding, IntList dilation, bool ceil_mode) {
    const Windows w = windows(input, kernel_size, stride, padding, dilation, ceil_mode);
    const Tensor result = empty_result(input, w), x = tenon::contiguous_as(input, tenon::f32);
    const auto* const from = x.data<const float>();
    auto* const to = result.data<float>();
    const int64_t b = block(), images = input.shape()[0] * input.shape()[1];
    const int64_t grain = 1 + 65536 / std::max<int64_t>(1, w.work() * b);
    tenon::parallel_for(0, images, grain, [&](int64_t begin, int64_t end) {
      largest_of_windows(w, from + begin * w.in_size() * b, to + begin * w.out_size() * b,
                         end - begin);
    });
    return result;
  }

 private:
  static Windows windows(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                         IntList padding, IntList dilation, bool ceil_mode) {
    check_blocked("max_pool2d_blocked", "input", input);
    const std::array<int64_t, 2> size = {input.shape()[2], input.shape()[3]};
    return {
        "max_pool2d_blocked", {size.data(), 2}, kernel_size, stride, padding, dilation, ceil_mode};
  }
  static Tensor empty_result(const Tensor& input, const Windows& w) {
    const IntList s = input.shape();
    Shape shape;
    for (const int64_t size : {s[0], s[1], w.out[1], w.out[2], s[4]}) shape.push(size);
    return tenon::empty_tensor(shape);
  }
};

}  // namespace
TENON_OP(MaxPool2dBlocked)
