// Largest elements of windows of images in blocks of channels.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include <tenon/kernel/lanes.hpp>

#include "blocks.hpp"
#include "shared_ops/windows.hpp"

namespace onednn {

// One block of channels of an image; a window has at least one element of it.
template <int B>
struct BlockedMaxima {
  using V = tenon::kernel::Vector<float, B * 4>;

  TENON_INLINE static void run(const nn::Windows* windows, const float* from, float* to) {
    const nn::Windows w = *windows;
    const int64_t row = w.dilation[1] * w.in[2] * B, column = w.dilation[2] * B;
    for (int64_t y = 0; y < w.out[1]; ++y) {
      const Range rows = inside(w, 1, y);
      const float* const line = from + rows.first * w.in[2] * B;
      for (int64_t x = 0; x < w.out[2]; ++x, to += B) {
        const Range columns = inside(w, 2, x);
        const float* const first = line + columns.first * B;
        V best = V{} - std::numeric_limits<float>::infinity();
        if (rows.count == 2 && columns.count == 2)
          take(best, first, 2, 2, row, column);
        else if (rows.count == 3 && columns.count == 3)
          take(best, first, 3, 3, row, column);
        else
          take(best, first, rows.count, columns.count, row, column);
        __builtin_memcpy(to, &best, sizeof(V));
      }
    }
  }

 private:
  struct Range {
    int64_t first, count;
  };
  // The elements of a window that are not padding, in dimension d.
  TENON_INLINE static Range inside(const nn::Windows& w, int d, int64_t window) {
    const int64_t begin = window * w.stride[d] - w.padding[d], step = w.dilation[d];
    if (begin >= 0 && begin + (w.kernel[d] - 1) * step < w.in[d]) return {begin, w.kernel[d]};
    const int64_t skipped = begin < 0 ? (step - 1 - begin) / step : 0;
    const int64_t end = std::min(w.kernel[d], (w.in[d] - begin + step - 1) / step);
    return {begin + skipped * step, std::max<int64_t>(end - skipped, 0)};
  }
  TENON_INLINE static void take(V& best, const float* from, int64_t rows, int64_t columns,
                                int64_t row, int64_t column) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        V value;
        tenon::kernel::detail::load_vector(value, from + i * row + j * column);
        tenon::kernel::take_better<true>(best, value);  // a NaN is taken, and stays
      }
    }
  }
};

// `planes` blocks of channels, one behind the other.
inline void largest_of_windows(const nn::Windows& w, const float* from, float* to, int64_t planes) {
  for (int64_t i = 0; i < planes; ++i) {
    const float* const image = from + i * w.in_size() * block();
    float* const values = to + i * w.out_size() * block();
    if (block() == 16)
      tenon::kernel::run<BlockedMaxima<16>>(&w, image, values);
    else
      tenon::kernel::run<BlockedMaxima<8>>(&w, image, values);
  }
}

}  // namespace onednn
