// avg_pool1d, avg_pool2d and avg_pool3d, and their gradient, over planes as they are.
#include <algorithm>

#include "common.hpp"
#include "shared_ops/average_pool.hpp"

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

struct Planewise {
  static Tensor average(const AveragePool& pool, const Tensor& input) {
    const Windows& windows = pool.windows;
    Tensor result = tenon::empty_tensor(windows.output_shape(input.shape()), input.dtype());
    if (result.numel() == 0) return result;
    const Tensor whole = dense(input);
    const int64_t in = windows.in_size(), out = windows.out_size();
    visit_floating(input.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = whole.data<const T>();
      T* to = result.data<T>();
      each_window(windows, Planes(input.shape(), windows.dimensions).planes, pool.count_include_pad,
                  [&](int64_t plane, int64_t position, const Window& window) {
                    T sum = 0;
                    each_row(windows, window, [&](int64_t at, int64_t count) {
                      const T* row = from + plane * in + at;
                      for (int64_t x = 0; x < count; ++x) sum += row[x];
                    });
                    to[plane * out + position] =
                        sum / static_cast<T>(pool.divisor.value_or(window.divisor()));
                  });
    });
    return result;
  }
  static Tensor spread(const AveragePool& pool, const Tensor& grad_output, IntList input_size) {
    const Windows& windows = pool.windows;
    Tensor result = tenon::empty_tensor(input_size, grad_output.dtype());
    tenon::fill_elements(result, 0);
    if (result.numel() == 0) return result;
    const Tensor whole = dense(grad_output);
    const int64_t in = windows.in_size(), out = windows.out_size();
    visit_floating(grad_output.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = whole.data<const T>();
      T* to = result.data<T>();
      each_window(windows, Planes(input_size, windows.dimensions).planes, pool.count_include_pad,
                  [&](int64_t plane, int64_t position, const Window& window) {
                    const T share = from[plane * out + position] /
                                    static_cast<T>(pool.divisor.value_or(window.divisor()));
                    each_row(windows, window, [&](int64_t at, int64_t count) {
                      T* row = to + plane * in + at;
                      for (int64_t x = 0; x < count; ++x) row[x] += share;
                    });
                  });
    });
    return result;
  }
};

template <int d>
struct AvgPool : AvgPoolDeclaration<d>, AvgPoolRules<AvgPool<d>, Planewise> {};
struct AvgPoolGrad : AvgPoolGradRules<AvgPoolGrad, Planewise> {
  static constexpr auto samples =
      R"([{"grad_output": {"shape": [2, 2]}, "input_size": [2, 5], "kernel_size": [2],
           "stride": [2], "padding": [0], "ceil_mode": false, "count_include_pad": true},
          {"grad_output": {"shape": [1, 3, 3]}, "input_size": [1, 4, 4], "kernel_size": [2, 2],
           "stride": [2, 2], "padding": [1, 1], "ceil_mode": true, "count_include_pad": false},
          {"grad_output": {"shape": [1, 2, 2]}, "input_size": [1, 4, 4], "kernel_size": [2, 2],
           "stride": null, "padding": [0, 0], "divisor_override": 3}])";
};

}  // namespace
TENON_OPS_1D_TO_3D(AvgPool)
TENON_OP(AvgPoolGrad)
