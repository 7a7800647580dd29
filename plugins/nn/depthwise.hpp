// Convolutions of one channel each, without a matrix of columns. With strides of 1 a band of rows is
// copied into a buffer with its padding, in which every tap of the kernel is one offset for the whole
// band: long loops, however narrow the image is.
#pragma once

#include <algorithm>

#include <tenon/kernel/lanes.hpp>

#include "unfolding.hpp"

namespace nn {

// How planes are cut into bands; elements of the buffers.
struct Bands {
  int64_t pitch, rows, input, output;

  explicit Bands(const Patches& p)
      : pitch(p.out[2] + p.reach(2) - 1),
        rows(std::clamp<int64_t>(kElements / std::max<int64_t>(pitch, 1), 1,
                                 std::max<int64_t>(p.out[1], 1))),
        input((rows + p.reach(1) - 1) * pitch),
        output(rows * pitch) {}
  // Elements that both buffers take; loops run over whole vectors.
  int64_t scratch() const { return input + output + 2 * kSlack; }

  static constexpr int64_t kElements = 6144;  // size of a band, which stays in the nearest cache
  static constexpr int64_t kSlack = 64;
};
inline bool has_unit_stride(const Patches& p) {
  return p.stride[0] == 1 && p.stride[1] == 1 && p.stride[2] == 1;
}

// Rows [first, first + rows) of an image, of which some are padding, in lines of `pitch`.
template <class T>
TENON_INLINE void pad_rows(const T* image, const Patches& p, int64_t first, int64_t rows,
                           int64_t pitch, T* to) {
  const int64_t left = std::min(p.padding[2], pitch),
                right = std::clamp(p.in[2] + p.padding[2], left, pitch);
  for (int64_t r = first; r < first + rows; ++r, to += pitch) {
    if (r < 0 || r >= p.in[1]) {
      std::fill_n(to, pitch, T{0});
      continue;
    }
    std::fill_n(to, left, T{0});
    std::copy_n(image + r * p.in[2] + left - p.padding[2], right - left, to + left);
    std::fill_n(to + right, pitch - right, T{0});
  }
}

// Calls body(slice of the output, of the image, of the kernel) for all that meet.
template <class Body>
TENON_INLINE void each_slice(const Patches& p, const Body& body) {
  for (int64_t z = 0; z < p.out[0]; ++z) {
    for (int64_t k = 0; k < p.kernel[0]; ++k) {
      const int64_t slice = z * p.stride[0] + k * p.dilation[0] - p.padding[0];
      if (slice >= 0 && slice < p.in[0]) body(z, slice, k);
    }
  }
}

// Adds the convolution of an image with one kernel to an output; strides of 1.
template <class T>
struct DepthwiseBands {
  TENON_INLINE static void run(const T* image, const T* weights, T* output, const Patches* patches,
                               T* scratch) {
    const Patches& p = *patches;
    const Bands bands(p);
    T *const padded = scratch, *const sums = scratch + bands.input + Bands::kSlack;
    std::fill_n(padded + bands.input, Bands::kSlack, T{0});
    each_slice(
        p, [&](int64_t z, int64_t slice, int64_t k) __attribute__((always_inline)) {
          const T* const kernel = weights + k * p.kernel[1] * p.kernel[2];
          for (int64_t y = 0; y < p.out[1]; y += bands.rows) {
            const int64_t rows = std::min(bands.rows, p.out[1] - y);
            pad_rows(image + slice * p.in[1] * p.in[2], p, y - p.padding[1], rows + p.reach(1) - 1,
                     bands.pitch, padded);
            add_taps(padded, kernel, p, bands.pitch, (rows - 1) * bands.pitch + p.out[2], sums);
            T* to = output + (z * p.out[1] + y) * p.out[2];
            for (int64_t r = 0; r < rows; ++r, to += p.out[2]) {
              TENON_INDEPENDENT
              for (int64_t x = 0; x < p.out[2]; ++x) to[x] += sums[r * bands.pitch + x];
            }
          }
        });
  }

 private:
  // sums[i] = sum over the taps of tap * in[i + its offset], in whole vectors.
  TENON_INLINE static void add_taps(const T* in, const T* taps, const Patches& p, int64_t pitch,
                                    int64_t count, T* sums) {
    using V = kernel::Vector<T, kernel::register_bytes>;
    constexpr auto n = static_cast<int64_t>(sizeof(V) / sizeof(T));
    const auto load = [](V & v, const T* at) __attribute__((always_inline)) {
      __builtin_memcpy(&v, at, sizeof(V));
    };
    const auto store = [](T * at, const V& v) __attribute__((always_inline)) {
      __builtin_memcpy(at, &v, sizeof(V));
    };
    for (int64_t i = 0; i < count; i += 4 * n) {
      V a{}, b{}, c{}, d{}, w, x, y, z;
      for (int64_t k = 0; k < p.kernel[1]; ++k) {
        for (int64_t j = 0; j < p.kernel[2]; ++j) {
          const T* const at = in + i + k * p.dilation[1] * pitch + j * p.dilation[2];
          const V tap = V{} + taps[k * p.kernel[2] + j];
          load(w, at);
          load(x, at + n);
          load(y, at + 2 * n);
          load(z, at + 3 * n);
          a += w * tap;
          b += x * tap;
          c += y * tap;
          d += z * tap;
        }
      }
      store(sums + i, a);
      store(sums + i + n, b);
      store(sums + i + 2 * n, c);
      store(sums + i + 3 * n, d);
    }
  }
};

// Adds the gradient of the kernel to `weights`; strides of 1.
template <class T>
struct DepthwiseWeightBands {
  TENON_INLINE static void run(const T* image, const T* gradient, T* weights,
                               const Patches* patches, T* scratch) {
    const Patches& p = *patches;
    const Bands bands(p);
    T *const padded = scratch, *const lines = scratch + bands.input + Bands::kSlack;
    const int64_t taps = p.kernel[2];
    each_slice(
        p, [&](int64_t z, int64_t slice, int64_t k) __attribute__((always_inline)) {
          for (int64_t y = 0; y < p.out[1]; y += bands.rows) {
            const int64_t rows = std::min(bands.rows, p.out[1] - y);
            pad_rows(image + slice * p.in[1] * p.in[2], p, y - p.padding[1], rows + p.reach(1) - 1,
                     bands.pitch, padded);
            const T* from = gradient + (z * p.out[1] + y) * p.out[2];
            for (int64_t r = 0; r < rows; ++r, from += p.out[2]) {
              T* const line = std::copy_n(from, p.out[2], lines + r * bands.pitch);
              std::fill_n(line, bands.pitch - p.out[2], T{0});
            }
            const int64_t count = (rows - 1) * bands.pitch + p.out[2];
            for (int64_t i = 0; i < p.kernel[1]; ++i) {
              for (int64_t j = 0; j < taps; ++j) {
                weights[(k * p.kernel[1] + i) * taps + j] += kernel::dot(
                    lines, padded + i * p.dilation[1] * bands.pitch + j * p.dilation[2], count);
              }
            }
          }
        });
  }
};

// body(row of the output, of the image, of the kernel) for all that meet.
template <class Body>
TENON_INLINE void each_row(const Patches& p, const Body& body) {
  each_slice(
      p, [&](int64_t z, int64_t slice, int64_t k) __attribute__((always_inline)) {
        for (int64_t y = 0; y < p.out[1]; ++y) {
          for (int64_t i = 0; i < p.kernel[1]; ++i) {
            const int64_t row = y * p.stride[1] + i * p.dilation[1] - p.padding[1];
            if (row >= 0 && row < p.in[1])
              body(z * p.out[1] + y, slice * p.in[1] + row, k * p.kernel[1] + i);
          }
        }
      });
}

// Depthwise convolution with any strides, tap by tap. `scratch` is not used.
template <class T>
struct DepthwiseRows {
  TENON_INLINE static void run(const T* image, const T* weights, T* output, const Patches* patches,
                               T*) {
    const Patches& p = *patches;
    for (int64_t j = 0; j < p.kernel[2]; ++j) {
      const int64_t offset = j * p.dilation[2] - p.padding[2], stride = p.stride[2];
      const Inside inside(p.out[2], stride, offset, p.in[2]);
      each_row(
          p, [&](int64_t out, int64_t in, int64_t row) __attribute__((always_inline)) {
            T* const to = output + out * p.out[2];
            const T* const from = image + in * p.in[2] + offset;
            const T tap = weights[row * p.kernel[2] + j];
            TENON_INDEPENDENT
            for (int64_t x = inside.low; x < inside.high; ++x) to[x] += tap * from[x * stride];
          });
    }
  }
};
template <class T>
struct DepthwiseWeightRows {
  TENON_INLINE static void run(const T* image, const T* gradient, T* weights,
                               const Patches* patches, T*) {
    const Patches& p = *patches;
    for (int64_t j = 0; j < p.kernel[2]; ++j) {
      const int64_t offset = j * p.dilation[2] - p.padding[2], stride = p.stride[2];
      const Inside inside(p.out[2], stride, offset, p.in[2]);
      each_row(
          p, [&](int64_t out, int64_t in, int64_t row) __attribute__((always_inline)) {
            const T *const g = gradient + out * p.out[2], *const from =
                                                              image + in * p.in[2] + offset;
            T sum = 0;
            for (int64_t x = inside.low; x < inside.high; ++x) sum += g[x] * from[x * stride];
            weights[row * p.kernel[2] + j] += sum;
          });
    }
  }
};

// The patches of the convolution with the turned kernel that gives the gradient of an image, where
// there is one: for strides of 1, and no more padding than the kernel reaches.
inline bool turned(const Patches& p, Patches& back) {
  back = p;
  for (int d = 0; d < 3; ++d) {
    back.in[d] = p.out[d];
    back.out[d] = p.in[d];
    back.padding[d] = p.reach(d) - 1 - p.padding[d];
    back.further[d] = 0;
    if (p.stride[d] != 1 || back.padding[d] < 0) return false;
  }
  return true;
}

}  // namespace nn
