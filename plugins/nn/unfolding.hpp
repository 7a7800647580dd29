// The patches of an image that a kernel sees, as columns, and back: what convolutions are made of.
#pragma once

#include <algorithm>

#include "common.hpp"
#include "shared_ops/patches.hpp"

namespace nn {

// Columns [low, high) of the output whose input column `at * stride - padding + offset` exists.
struct Inside {
  int64_t low, high;
  Inside(int64_t count, int64_t stride, int64_t offset, int64_t size) {
    // offset + low * stride >= 0 and offset + (high - 1) * stride < size
    low = offset >= 0 ? 0 : std::min(count, (-offset + stride - 1) / stride);
    high = offset >= size ? low : std::max(low, std::min(count, (size - offset - 1) / stride + 1));
  }
};

// body(row of the image or -1 in the padding, offset of its column 0, columns inside of the image)
// for each row of the output under each element of the kernel, in the order of the columns' matrix.
template <class Body>
void each_unfolded_row(const Patches& p, const Body& body) {
  for (int64_t channel = 0; channel < p.channels; ++channel) {
    for (int64_t k = 0; k < p.kernel[0]; ++k) {
      for (int64_t i = 0; i < p.kernel[1]; ++i) {
        for (int64_t j = 0; j < p.kernel[2]; ++j) {
          const int64_t offset = j * p.dilation[2] - p.padding[2];
          const Inside inside(p.out[2], p.stride[2], offset, p.in[2]);
          for (int64_t z = 0; z < p.out[0]; ++z) {
            const int64_t slice = z * p.stride[0] + k * p.dilation[0] - p.padding[0];
            for (int64_t y = 0; y < p.out[1]; ++y) {
              const int64_t row = y * p.stride[1] + i * p.dilation[1] - p.padding[1];
              const bool outside = slice < 0 || slice >= p.in[0] || row < 0 || row >= p.in[1];
              body(outside ? -1 : (channel * p.in[0] + slice) * p.in[1] + row, offset, inside);
            }
          }
        }
      }
    }
  }
}

// The input patches under each kernel element as rows: [depth, positions].
template <class T>
void unfold(const Patches& p, const T* image, T* columns) {
  const int64_t width = p.out[2], stride = p.stride[2];
  each_unfolded_row(p, [&](int64_t row, int64_t offset, const Inside& inside) {
    if (row < 0) {
      std::fill(columns, columns + width, T{0});
    } else {
      const T* from = image + row * p.in[2] + offset;
      std::fill(columns, columns + inside.low, T{0});
      if (stride == 1) {
        std::copy(from + inside.low, from + inside.high, columns + inside.low);
      } else {
        for (int64_t x = inside.low; x < inside.high; ++x) columns[x] = from[x * stride];
      }
      std::fill(columns + inside.high, columns + width, T{0});
    }
    columns += width;
  });
}

// The transpose: adds the rows back to where they came from.
template <class T>
void fold(const Patches& p, const T* columns, T* image) {
  const int64_t width = p.out[2], stride = p.stride[2];
  each_unfolded_row(p, [&](int64_t row, int64_t offset, const Inside& inside) {
    if (row >= 0) {
      T* to = image + row * p.in[2] + offset;
      if (stride == 1) {
        for (int64_t x = inside.low; x < inside.high; ++x) to[x] += columns[x];
      } else {
        for (int64_t x = inside.low; x < inside.high; ++x) to[x * stride] += columns[x];
      }
    }
    columns += width;
  });
}

}  // namespace nn
