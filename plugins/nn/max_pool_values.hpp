// The largest element of each window, without where it was: for calls that no gradient follows. All
// windows are the vector, however short their rows.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <tenon/kernel/lanes.hpp>
#include <tenon/kernel/registers.hpp>

#include "pooling.hpp"

namespace nn {

// A plane is reduced in two steps, some of its rows of windows at a time: to the largest element of
// each column of a window, in rows with their borders, then along these rows. Their pitch is a multiple
// of the stride, so that one loop goes through all of them; where rows do not end with their last
// window, it computes a few that are none.
struct ValueRows {
  int64_t pitch, columns, rows;  // elements of a row; windows in a pitch; rows at a time
  static constexpr int64_t kElements = 4096;
  static constexpr int64_t kWindows = 32;  // in one step of the loop along the rows

  explicit ValueRows(const Windows& w) {
    const int64_t stride = w.stride[2];
    const bool apart = w.dilation[2] * (w.kernel[2] - 1) < stride;
    const int64_t reach = apart ? w.out[2] * stride : needed(w);
    columns = (reach + stride - 1) / stride;
    pitch = columns * stride;
    rows = std::clamp<int64_t>(kElements / pitch, 1, w.out[1]);
  }
  // Kernels may be much larger than their input: such rows would be borders alone.
  static bool takes(const Windows& w) {
    return w.kernel[2] <= 64 && w.dilation[2] <= 64 && w.stride[2] <= 64;
  }
  // Elements of the rows, and those behind them that padding windows reach.
  int64_t elements(const Windows& w) const {
    return rows * pitch + kWindows * w.stride[2] + w.dilation[2] * (w.kernel[2] - 1);
  }
  int64_t scratch(const Windows& w) const { return elements(w) + rows * columns; }

 private:
  // From the first border to the end of the last window.
  static int64_t needed(const Windows& w) {
    return (w.out[2] - 1) * w.stride[2] + w.dilation[2] * (w.kernel[2] - 1) + 1;
  }
};

template <class T>
struct PoolValues {
  // `scratch` has layout->scratch(*windows) elements.
  TENON_INLINE static void run(const Windows* windows, const ValueRows* layout, const T* plane,
                               T* values, T* scratch) {
    const Windows& w = *windows;
    const ValueRows& l = *layout;
    T* const joined = scratch + l.elements(w);
    const bool direct = l.columns == w.out[2];
    std::fill(scratch, joined, none);  // the borders, which no row overwrites
    for (int64_t z = 0; z < w.out[0]; ++z) {
      for (int64_t y = 0; y < w.out[1]; y += l.rows) {
        const int64_t rows = std::min(l.rows, w.out[1] - y);
        for (int64_t r = 0; r < rows; ++r)
          take_columns(w, l, plane, z, y + r, scratch + r * l.pitch);
        take_rows(w, scratch, direct ? values : joined, rows * l.columns);
        for (int64_t r = 0; !direct && r < rows; ++r)
          std::copy_n(joined + r * l.columns, w.out[2], values + r * w.out[2]);
        values += rows * w.out[2];
      }
    }
  }

 private:
  static constexpr T none = -std::numeric_limits<T>::infinity();

  using V = kernel::Vector<T, kernel::register_bytes>;
  static constexpr auto N = static_cast<int64_t>(sizeof(V) / sizeof(T));

  // The larger of two elements, or the NaN.
  TENON_INLINE static T larger(T best, T other) {
    kernel::take_better<true>(best, other);
    return best;
  }
  TENON_INLINE static void larger_of_register(T* to, const T* a, const T* b) {
    V best, other;
    kernel::detail::load_vector(best, a);
    kernel::detail::load_vector(other, b);
    kernel::take_better<true>(best, other);
    __builtin_memcpy(to, &best, sizeof(V));
  }
  // The larger elements of two rows. The last register overlaps the one before: what is left over
  // would take branches.
  TENON_INLINE static void larger_of_rows(T* to, const T* a, const T* b, int64_t count) {
    if (count < N) {
      T left[N] = {}, right[N] = {};
      std::copy_n(a, count, left);
      std::copy_n(b, count, right);
      larger_of_register(left, left, right);
      std::copy_n(left, count, to);
      return;
    }
    for (int64_t x = 0; x + N < count; x += N) larger_of_register(to + x, a + x, b + x);
    const int64_t last = count - N;
    larger_of_register(to + last, a + last, b + last);
  }
  // Takes the largest of each column of the windows in row (z, y).
  TENON_INLINE static void take_columns(const Windows& w, const ValueRows& l, const T* plane,
                                        int64_t z, int64_t y, T* row) {
    T* const to = row + w.padding[2];
    const int64_t count = std::min(w.in[2], l.pitch - w.padding[2]);
    const int64_t front = z * w.stride[0] - w.padding[0], top = y * w.stride[1] - w.padding[1];
    const Taps slices(w, 0, front, front), rows(w, 1, top, top);
    const T* first = nullptr;  // waits for a second one
    int64_t taken = 0;
    for (int64_t k = slices.begin; k < slices.end; ++k) {
      for (int64_t i = rows.begin; i < rows.end; ++i, ++taken) {
        const int64_t slice = front + k * w.dilation[0];
        const T* from = plane + (slice * w.in[1] + top + i * w.dilation[1]) * w.in[2];
        if (taken == 0) {
          first = from;
        } else if (taken == 1) {
          larger_of_rows(to, first, from, count);
        } else {
          larger_of_rows(to, to, from, count);
        }
      }
    }
    if (taken == 0) std::fill_n(to, count, none);
    if (taken == 1) std::copy_n(first, count, to);
  }
  // Along the rows, for `count` windows.
  TENON_INLINE static void take_rows(const Windows& w, const T* from, T* to, int64_t count) {
    const int64_t stride = w.stride[2], kernel = w.kernel[2];
    const bool adjacent = stride == 2 && w.dilation[2] == 1;
    constexpr int64_t step = ValueRows::kWindows;
    for (int64_t i = 0; i < count; i += step, from += step * stride) {
      T rest[step];
      T* const at = count - i < step ? rest : to + i;
      if (adjacent && kernel == 2) {
        TENON_INDEPENDENT
        for (int64_t k = 0; k < step; ++k) at[k] = larger(from[2 * k], from[2 * k + 1]);
      } else if (adjacent && kernel == 3) {
        TENON_INDEPENDENT
        for (int64_t k = 0; k < step; ++k)
          at[k] = larger(larger(from[2 * k], from[2 * k + 1]), from[2 * k + 2]);
      } else {
        for (int64_t k = 0; k < step; ++k) at[k] = from[k * stride];
        for (int64_t j = 1; j < kernel; ++j) {
          const T* tap = from + j * w.dilation[2];
          TENON_INDEPENDENT
          for (int64_t k = 0; k < step; ++k) at[k] = larger(at[k], tap[k * stride]);
        }
      }
      if (at == rest) std::copy_n(rest, count - i, to + i);
    }
  }
};

// Windows of two by two elements, next to each other and inside of the plane, as most networks have
// them: two rows become one in registers, without scratch memory.
template <class T, int Bytes>
class PoolSquares {
 public:
  TENON_INLINE static void run(const Windows* windows, const T* plane, T* values) {
    const int64_t width = windows->in[2], count = windows->out[2];
    const T *const in_end = plane + windows->in_size(), *const out_end =
                                                            values + windows->out_size();
    for (int64_t y = 0; y < windows->out[1]; ++y, plane += 2 * width, values += count)
      take_row<Bytes>(plane, plane + width, values, count, in_end, out_end);
  }

 private:
  template <int Size>
  static constexpr int lanes = Size / static_cast<int>(sizeof(T));

  // `count` windows, in registers of `Size` bytes, at the end of the plane in smaller ones.
  template <int Size>
  TENON_INLINE static void take_row(const T* upper, const T* lower, T* to, int64_t count,
                                    const T* in_end, const T* out_end) {
    constexpr int N = lanes<Size>;
    for (int64_t next = 0; next < count; next += N) {
      // The last vector of a row overlaps the one before; what a longer one than the row has beyond it
      // is overwritten by the rows behind.
      const int64_t x = count < N ? 0 : std::min(next, count - N);
      if (in_end - (lower + 2 * x) >= 2 * N && out_end - (to + x) >= N) {
        take<Size>(upper + 2 * x, lower + 2 * x, to + x);
      } else if constexpr (Size > 16) {
        take_row<Size / 2>(upper + 2 * x, lower + 2 * x, to + x, std::min<int64_t>(N, count),
                           in_end, out_end);
      } else {
        for (int64_t k = x; k < std::min<int64_t>(x + N, count); ++k)
          to[k] = larger(larger(upper[2 * k], upper[2 * k + 1]),
                         larger(lower[2 * k], lower[2 * k + 1]));
      }
    }
  }
  TENON_INLINE static T larger(T best, T other) {
    kernel::take_better<true>(best, other);
    return best;
  }
  template <int Size>
  TENON_INLINE static void take(const T* upper, const T* lower, T* to) {
    kernel::Vector<T, Size> first, second, other;
    kernel::detail::load_vector(first, upper);
    kernel::detail::load_vector(other, lower);
    kernel::take_better<true>(first, other);
    kernel::detail::load_vector(second, upper + lanes<Size>);
    kernel::detail::load_vector(other, lower + lanes<Size>);
    kernel::take_better<true>(second, other);
    join(first, second, to, std::make_integer_sequence<int, lanes<Size>>());
  }
  template <class V, int... Lane>
  TENON_INLINE static void join(const V& first, const V& second, T* to,
                                std::integer_sequence<int, Lane...>) {
    V best = __builtin_shufflevector(first, second, (2 * Lane)...);
    const V odd = __builtin_shufflevector(first, second, (2 * Lane + 1)...);
    kernel::take_better<true>(best, odd);
    __builtin_memcpy(to, &best, sizeof(V));
  }
};
inline bool has_squares(const Windows& w) {
  bool has = w.in[0] == 1 && w.kernel[0] == 1 && w.out[0] == 1 && w.padding[0] == 0;
  for (int d = 1; d < 3; ++d) {
    has = has && w.kernel[d] == 2 && w.stride[d] == 2 && w.dilation[d] == 1 && w.padding[d] == 0 &&
          2 * w.out[d] <= w.in[d];
  }
  return has;
}
template <class T>
struct PoolSquaresOf {
  template <int Bytes>
  using By = PoolSquares<T, Bytes>;
};

}  // namespace nn
