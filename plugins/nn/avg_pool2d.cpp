// avg_pool2d and its gradient, the transpose of a linear map.
#include "pooling.hpp"

namespace {

using namespace nn;

// One window cut to the input, and what its sum is divided by.
struct Window {
  int64_t top, bottom, left, right, divisor;
  Window(const Windows& w, int64_t y, int64_t x, bool count_padding) {
    const int64_t y0 = y * w.stride[0] - w.padding[0], x0 = x * w.stride[1] - w.padding[1];
    const int64_t y1 = std::min(y0 + w.kernel[0], w.in[0] + w.padding[0]);
    const int64_t x1 = std::min(x0 + w.kernel[1], w.in[1] + w.padding[1]);
    top = std::max<int64_t>(y0, 0);
    left = std::max<int64_t>(x0, 0);
    bottom = std::min(y1, w.in[0]);
    right = std::min(x1, w.in[1]);
    divisor = count_padding ? (y1 - y0) * (x1 - x0) : (bottom - top) * (right - left);
  }
};

// body(plane, output position, window) for every window of every plane.
template <class Body>
void each_window(const Windows& w, int64_t planes, bool count_padding, const Body& body) {
  const int64_t work = w.out[0] * w.out[1] * w.kernel[0] * w.kernel[1];
  kernel::for_rows(planes, work, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      for (int64_t y = 0; y < w.out[0]; ++y) {
        for (int64_t x = 0; x < w.out[1]; ++x)
          body(p, y * w.out[1] + x, Window(w, y, x, count_padding));
      }
    }
  });
}

struct AvgPool2d {
  static constexpr auto schema =
      "nn.functional.avg_pool2d(Tensor input, int[2] kernel_size, int[2]? stride=None, int[2] "
      "padding=0, "
      "bool ceil_mode=False, bool count_include_pad=True) -> Tensor";
  static constexpr auto doc = "The mean of each window; stride is kernel_size unless given.";
  static constexpr auto saves = "shape(input)";

  static Tensor forward(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                        IntList padding, bool ceil_mode, bool count_include_pad) {
    check_pool_input("avg_pool2d", input, 2);
    const Windows windows("avg_pool2d", input.shape(), kernel_size, stride, padding, std::nullopt,
                          ceil_mode);
    Tensor result = tenon::empty_tensor(with_last(input.shape(), {windows.out, 2}), input.dtype());
    if (result.numel() == 0) return result;
    const Tensor whole = dense(input);
    const int64_t in = windows.in[0] * windows.in[1], out = windows.out[0] * windows.out[1];
    visit_floating(input.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = whole.data<const T>();
      T* to = result.data<T>();
      each_window(windows, Planes(input.shape(), 2).planes, count_include_pad,
                  [&](int64_t plane, int64_t position, const Window& window) {
                    T sum = 0;
                    for (int64_t y = window.top; y < window.bottom; ++y) {
                      const T* row = from + plane * in + y * windows.in[1];
                      for (int64_t x = window.left; x < window.right; ++x) sum += row[x];
                    }
                    to[plane * out + position] = sum / static_cast<T>(window.divisor);
                  });
    });
    return result;
  }
  static Tensor backward(ContextOf<AvgPool2d>& c, const Tensor& g) {
    return tenon::nn::grad::avg_pool2d(g, c["input"_arg].shape(), c["kernel_size"_arg],
                                       c["stride"_arg], c["padding"_arg], c["ceil_mode"_arg],
                                       c["count_include_pad"_arg]);
  }
  static constexpr auto jvp = tenon::JvpKind::linear;
};

struct AvgPool2dGrad {
  static constexpr auto schema =
      "nn.grad.avg_pool2d(Tensor grad_output, int[] input_size, int[2] kernel_size, int[2]? "
      "stride=None, "
      "int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True) -> Tensor";
  static constexpr auto doc = "The gradient of avg_pool2d.";

  static Tensor forward(const Tensor& grad_output, IntList input_size, IntList kernel_size,
                        std::optional<IntList> stride, IntList padding, bool ceil_mode,
                        bool count_include_pad) {
    check_pool_input("avg_pool2d", grad_output, 2);
    if (input_size.size() != grad_output.dim()) {
      throw tenon::ValueError("avg_pool2d(): 'grad_output' of shape " + shape_text(grad_output) +
                              " does not fit an input of shape " + shape_text(input_size));
    }
    const Windows windows("avg_pool2d", input_size, kernel_size, stride, padding, std::nullopt,
                          ceil_mode);
    kernel::check_shape("avg_pool2d", "grad_output", grad_output,
                        with_last(input_size, {windows.out, 2}));
    Tensor result = tenon::empty_tensor(input_size, grad_output.dtype());
    tenon::fill_elements(result, 0);
    if (result.numel() == 0) return result;
    const Tensor whole = dense(grad_output);
    const int64_t in = windows.in[0] * windows.in[1], out = windows.out[0] * windows.out[1];
    visit_floating(grad_output.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = whole.data<const T>();
      T* to = result.data<T>();
      each_window(windows, Planes(input_size, 2).planes, count_include_pad,
                  [&](int64_t plane, int64_t position, const Window& window) {
                    const T share = from[plane * out + position] / static_cast<T>(window.divisor);
                    for (int64_t y = window.top; y < window.bottom; ++y) {
                      T* row = to + plane * in + y * windows.in[1];
                      for (int64_t x = window.left; x < window.right; ++x) row[x] += share;
                    }
                  });
    });
    return result;
  }
  static Tensor backward(ContextOf<AvgPool2dGrad>& c, const Tensor& v) {
    return tenon::nn::functional::avg_pool2d(v, c["kernel_size"_arg], c["stride"_arg],
                                             c["padding"_arg], c["ceil_mode"_arg],
                                             c["count_include_pad"_arg]);
  }
  static constexpr auto jvp = tenon::JvpKind::linear;
};

}  // namespace
TENON_OP(AvgPool2d)
TENON_OP(AvgPool2dGrad)
