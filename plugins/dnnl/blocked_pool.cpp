// Pools of images in blocks of channels.
#include <limits>

#include <tenon/kernel/lanes.hpp>

#include "blocks.hpp"
#include "shared_ops/windows.hpp"

namespace {

using namespace nn;
using namespace onednn;

// One block of channels of an image.
template <int B>
struct BlockedMaxima {
  using V = tenon::kernel::Vector<float, B * 4>;

  TENON_INLINE static void run(const Windows* windows, const float* from, float* to) {
    const Windows& w = *windows;
    for (int64_t y = 0; y < w.out[1]; ++y) {
      const int64_t top = y * w.stride[1] - w.padding[1];
      for (int64_t x = 0; x < w.out[2]; ++x, to += B) {
        const int64_t left = x * w.stride[2] - w.padding[2];
        V best = V{} - std::numeric_limits<float>::infinity();
        for (int64_t i = 0; i < w.kernel[1]; ++i) {
          const int64_t row = top + i * w.dilation[1];
          if (row < 0 || row >= w.in[1]) continue;
          for (int64_t j = 0; j < w.kernel[2]; ++j) {
            const int64_t column = left + j * w.dilation[2];
            if (column < 0 || column >= w.in[2]) continue;
            V value;
            tenon::kernel::detail::load_vector(value, from + (row * w.in[2] + column) * B);
            tenon::kernel::take_better<true>(best, value);  // a NaN is taken, and stays
          }
        }
        __builtin_memcpy(to, &best, sizeof(V));
      }
    }
  }
};

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
      for (int64_t i = begin; i < end; ++i) {
        const float* const image = from + i * w.in_size() * b;
        float* const values = to + i * w.out_size() * b;
        if (b == 16)
          tenon::kernel::run<BlockedMaxima<16>>(&w, image, values);
        else
          tenon::kernel::run<BlockedMaxima<8>>(&w, image, values);
      }
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
