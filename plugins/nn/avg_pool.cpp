// avg_pool1d, avg_pool2d and avg_pool3d, and their gradient, the transpose of a linear map.
#include "pooling.hpp"

namespace {

using namespace nn;

// One window along one dimension, cut to the input, and how many of its elements count.
struct Cut {
  int64_t begin, end, counted;
  Cut(const Windows& w, int d, int64_t at, bool count_padding) {
    const int64_t from = at * w.stride[d] - w.padding[d];
    const int64_t to = std::min(from + w.kernel[d], w.in[d] + w.padding[d]);
    begin = std::max<int64_t>(from, 0);
    end = std::min(to, w.in[d]);
    counted = count_padding ? to - from : end - begin;
  }
};
// A window: what it is along each dimension, and what its sum is divided by.
struct Window {
  Cut z, y, x;
  int64_t divisor() const { return z.counted * y.counted * x.counted; }
};

// body(plane, output position, window) for every window of every plane.
template <class Body>
void each_window(const Windows& w, int64_t planes, bool count_padding, const Body& body) {
  kernel::for_rows(planes, w.work(), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      int64_t position = 0;
      for (int64_t k = 0; k < w.out[0]; ++k) {
        const Cut z(w, 0, k, count_padding);
        for (int64_t i = 0; i < w.out[1]; ++i) {
          const Cut y(w, 1, i, count_padding);
          for (int64_t j = 0; j < w.out[2]; ++j) {
            const Cut x(w, 2, j, count_padding);
            body(p, position++, Window{z, y, x});
          }
        }
      }
    }
  });
}

// visit(offset of the first of a row of elements, their number) for the rows of a window.
template <class Visit>
TENON_INLINE void each_row(const Windows& w, const Window& window, const Visit& visit) {
  const int64_t width = w.in[2], count = window.x.end - window.x.begin;
  for (int64_t z = window.z.begin; z < window.z.end; ++z) {
    int64_t at = (z * w.in[1] + window.y.begin) * width + window.x.begin;
    for (int64_t y = window.y.begin; y < window.y.end; ++y, at += width) visit(at, count);
  }
}

void check_divisor(const char* op, std::optional<int64_t> divisor) {
  if (divisor != 0) return;
  throw tenon::ValueError(std::string(op) +
                          "(): divisor_override is 0; omit it to divide by the "
                          "number of elements of a window");
}

Tensor average(const char* op, const Tensor& input, IntList kernel_size,
               std::optional<IntList> stride, IntList padding, bool ceil_mode,
               bool count_include_pad, std::optional<int64_t> divisor_override) {
  check_pool_input(op, input, kernel_size.size());
  check_divisor(op, divisor_override);
  const Windows windows(op, input.shape(), kernel_size, stride, padding, std::nullopt, ceil_mode);
  Tensor result = tenon::empty_tensor(windows.output_shape(input.shape()), input.dtype());
  if (result.numel() == 0) return result;
  const Tensor whole = dense(input);
  const int64_t in = windows.in_size(), out = windows.out_size();
  visit_floating(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = whole.data<const T>();
    T* to = result.data<T>();
    each_window(windows, Planes(input.shape(), windows.dimensions).planes, count_include_pad,
                [&](int64_t plane, int64_t position, const Window& window) {
                  T sum = 0;
                  each_row(windows, window, [&](int64_t at, int64_t count) {
                    const T* row = from + plane * in + at;
                    for (int64_t x = 0; x < count; ++x) sum += row[x];
                  });
                  to[plane * out + position] =
                      sum / static_cast<T>(divisor_override.value_or(window.divisor()));
                });
  });
  return result;
}

// What the ops of one, two and three dimensions end with.
template <class Op>
Tensor spread(ContextOf<Op>& c, const Tensor& g) {
  return tenon::nn::grad::avg_pool(g, c["input"_arg].shape(), c["kernel_size"_arg], c["stride"_arg],
                                   c["padding"_arg], c["ceil_mode"_arg], c["count_include_pad"_arg],
                                   c["divisor_override"_arg]);
}

// What avg_pool is over any number of dimensions; `Op` has its own schema, name and document.
template <class Op>
struct AvgPoolRules {
  static constexpr auto saves = "shape(input)";
  static Tensor forward(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                        IntList padding, bool ceil_mode, bool count_include_pad,
                        std::optional<int64_t> divisor_override) {
    return average(Op::name, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
                   divisor_override);
  }
  static Tensor backward(ContextOf<Op>& c, const Tensor& g) { return spread(c, g); }
  static constexpr auto jvp = tenon::JvpKind::linear;
};

struct AvgPool1d : AvgPoolRules<AvgPool1d> {
  static constexpr auto name = "avg_pool1d";
  static constexpr auto schema =
      "nn.functional.avg_pool1d(Tensor input, int[1] kernel_size, int[1]? stride=None, "
      "int[1] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? "
      "divisor_override=None) -> Tensor";
  static constexpr auto doc =
      "The mean of each window over the last dimension; stride is kernel_size unless given. With "
      "ceil_mode a window may reach beyond the end; count_include_pad counts padding as zeros. "
      "divisor_override takes the place of the number of elements that a sum is divided by.";
};

struct AvgPool2d : AvgPoolRules<AvgPool2d> {
  static constexpr auto name = "avg_pool2d";
  static constexpr auto schema =
      "nn.functional.avg_pool2d(Tensor input, int[2] kernel_size, int[2]? stride=None, "
      "int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? "
      "divisor_override=None) -> Tensor";
  static constexpr auto doc =
      "The mean of each window over the last two dimensions; stride is kernel_size unless given. "
      "With "
      "ceil_mode a window may reach beyond the end; count_include_pad counts padding as zeros. "
      "divisor_override takes the place of the number of elements that a sum is divided by.";
};

struct AvgPool3d : AvgPoolRules<AvgPool3d> {
  static constexpr auto name = "avg_pool3d";
  static constexpr auto schema =
      "nn.functional.avg_pool3d(Tensor input, int[3] kernel_size, int[3]? stride=None, "
      "int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? "
      "divisor_override=None) -> Tensor";
  static constexpr auto doc =
      "The mean of each window over the last three dimensions; stride is kernel_size unless given. "
      "With "
      "ceil_mode a window may reach beyond the end; count_include_pad counts padding as zeros. "
      "divisor_override takes the place of the number of elements that a sum is divided by.";
};

struct AvgPoolGrad {
  static constexpr auto schema =
      "nn.grad.avg_pool(Tensor grad_output, int[] input_size, int[] kernel_size, int[]? "
      "stride, int[] padding, bool ceil_mode=False, bool count_include_pad=True, int? "
      "divisor_override=None) -> Tensor";
  static constexpr auto samples =
      R"([{"grad_output": {"shape": [2, 2]}, "input_size": [2, 5], "kernel_size": [2],
           "stride": [2], "padding": [0], "ceil_mode": false, "count_include_pad": true},
          {"grad_output": {"shape": [1, 3, 3]}, "input_size": [1, 4, 4], "kernel_size": [2, 2],
           "stride": [2, 2], "padding": [1, 1], "ceil_mode": true, "count_include_pad": false},
          {"grad_output": {"shape": [1, 2, 2]}, "input_size": [1, 4, 4], "kernel_size": [2, 2],
           "stride": null, "padding": [0, 0], "divisor_override": 3}])";
  static constexpr auto doc =
      "The gradient of the avg_pool of as many dimensions as kernel_size has.";

  static Tensor forward(const Tensor& grad_output, IntList input_size, IntList kernel_size,
                        std::optional<IntList> stride, IntList padding, bool ceil_mode,
                        bool count_include_pad, std::optional<int64_t> divisor_override) {
    constexpr auto op = "avg_pool";
    check_divisor(op, divisor_override);
    const int64_t dimensions = kernel_size.size();
    if (dimensions < 1 || dimensions > 3 || padding.size() != dimensions ||
        (stride && stride->size() != dimensions)) {
      throw tenon::ValueError(
          "avg_pool(): kernel_size, stride and padding must each have 1, 2 or 3 numbers, got " +
          shape_text(kernel_size) + " and padding " + shape_text(padding));
    }
    check_pool_input(op, grad_output, dimensions);
    if (input_size.size() != grad_output.dim()) {
      throw tenon::ValueError("avg_pool(): 'grad_output' of shape " + shape_text(grad_output) +
                              " does not fit an input of shape " + shape_text(input_size));
    }
    const Windows windows(op, input_size, kernel_size, stride, padding, std::nullopt, ceil_mode);
    kernel::check_shape(op, "grad_output", grad_output, windows.output_shape(input_size));
    Tensor result = tenon::empty_tensor(input_size, grad_output.dtype());
    tenon::fill_elements(result, 0);
    if (result.numel() == 0) return result;
    const Tensor whole = dense(grad_output);
    const int64_t in = windows.in_size(), out = windows.out_size();
    visit_floating(grad_output.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = whole.data<const T>();
      T* to = result.data<T>();
      each_window(windows, Planes(input_size, dimensions).planes, count_include_pad,
                  [&](int64_t plane, int64_t position, const Window& window) {
                    const T share = from[plane * out + position] /
                                    static_cast<T>(divisor_override.value_or(window.divisor()));
                    each_row(windows, window, [&](int64_t at, int64_t count) {
                      T* row = to + plane * in + at;
                      for (int64_t x = 0; x < count; ++x) row[x] += share;
                    });
                  });
    });
    return result;
  }
  static Tensor backward(ContextOf<AvgPoolGrad>& c, const Tensor& v) {
    namespace functional = tenon::nn::functional;
    const IntList size = c["kernel_size"_arg];
    const auto stride = c["stride"_arg];
    const IntList padding = c["padding"_arg];
    const bool ceil_mode = c["ceil_mode"_arg], count_include_pad = c["count_include_pad"_arg];
    const auto divisor = c["divisor_override"_arg];
    switch (size.size()) {
      case 1:
        return functional::avg_pool1d(v, size, stride, padding, ceil_mode, count_include_pad,
                                      divisor);
      case 2:
        return functional::avg_pool2d(v, size, stride, padding, ceil_mode, count_include_pad,
                                      divisor);
      default:
        return functional::avg_pool3d(v, size, stride, padding, ceil_mode, count_include_pad,
                                      divisor);
    }
  }
  static constexpr auto jvp = tenon::JvpKind::linear;
};

}  // namespace
TENON_OP(AvgPool1d)
TENON_OP(AvgPool2d)
TENON_OP(AvgPool3d)
TENON_OP(AvgPoolGrad)
