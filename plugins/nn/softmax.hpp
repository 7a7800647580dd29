// Kernels over rows: softmax, its logarithm, and what cross_entropy needs of both.
#pragma once

#include <algorithm>
#include <cmath>

#include <tenon/plugin.hpp>
#include <tenon/kernel/registers.hpp>

#include "exp_rows.hpp"

namespace nn {

// Short rows are worked on together, in blocks of this many elements, so that exp runs over long
// stretches.
inline constexpr int64_t kBlock = 2048;
inline int64_t rows_in_block(int64_t n) {
  return std::max<int64_t>(1, kBlock / std::max<int64_t>(n, 1));
}

// y = exp(x - largest of the row), not divided by its sum, which goes to sums[row]; maxima[row]
// when it is not null.
template <class T, int Bytes>
struct ExpRows {
  TENON_INLINE static void run(const T* x, T* y, int64_t rows, int64_t n, T* sums, T* maxima) {
    // By the row's length, not by how many rows a thread has left: the two ways round differently.
    if (n >= kLongRow<T>) {
      // Each step for some rows: what a row ends with, across its lanes, waits for no other row.
      constexpr int64_t together = 8;
      T largest[together];
      for (int64_t r = 0; r < rows; r += together) {
        const int64_t count = std::min(together, rows - r);
        for (int64_t k = 0; k < count; ++k) largest[k] = largest_of<T, Bytes>(x + (r + k) * n, n);
        if (maxima != nullptr) std::copy_n(largest, count, maxima + r);
        for (int64_t k = 0; k < count; ++k)
          sums[r + k] = exp_long_row<T, Bytes>(x + (r + k) * n, y + (r + k) * n, n, largest[k], n);
      }
      return;
    }
    for (int64_t r = 0; r < rows; ++r) {
      const T* from = x + r * n;
      T* to = y + r * n;
      const T largest = kernel::largest_number(from, n);
      if (maxima != nullptr) maxima[r] = largest;
      TENON_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) to[i] = from[i] - largest;
    }
    map_in_place(y, rows * n, [](T value) { return kernel::exp(value); });
    for (int64_t r = 0; r < rows; ++r) sums[r] = kernel::sum(y + r * n, n);
  }
};

// A kernel over rows for each size of registers.
template <template <class, int> class Rows, class T>
struct RowsOf {
  template <int Bytes>
  using By = Rows<T, Bytes>;
};

template <class T, int Bytes>
struct SoftmaxRows {
  TENON_INLINE static void run(const T* x, T* y, int64_t rows, int64_t n) {
    T sums[kBlock];
    const int64_t step = rows_in_block(n);
    for (int64_t r = 0; r < rows; r += step) {
      const int64_t count = std::min(step, rows - r);
      T* to = y + r * n;
      ExpRows<T, Bytes>::run(x + r * n, to, count, n, sums, nullptr);
      for (int64_t k = 0; k < count; ++k) {
        const T factor = T{1} / sums[k];
        TENON_INDEPENDENT
        for (int64_t i = 0; i < n; ++i) to[k * n + i] *= factor;
      }
    }
  }
};

// For each row: its largest element and the logarithm of the sum of exp(x - largest).
template <class T, int Bytes>
struct LogSumRows {
  TENON_INLINE static void run(const T* x, int64_t rows, int64_t n, T* maxima, T* log_sums) {
    T exps[kBlock];
    if (n <= kBlock) {
      const int64_t step = rows_in_block(n);
      for (int64_t r = 0; r < rows; r += step) {
        const int64_t count = std::min(step, rows - r);
        ExpRows<T, Bytes>::run(x + r * n, exps, count, n, log_sums + r, maxima + r);
      }
    } else {
      for (int64_t r = 0; r < rows; ++r) {
        const T* from = x + r * n;
        const T largest = kernel::largest_number(from, n);
        T sum = 0;
        for (int64_t i = 0; i < n; i += kBlock) {
          const int64_t count = std::min(kBlock, n - i);
          for (int64_t k = 0; k < count; k += 64 / static_cast<int64_t>(sizeof(T)))
            __builtin_prefetch(from + n + i + k, 0, 2);
          TENON_INDEPENDENT
          for (int64_t k = 0; k < count; ++k) exps[k] = kernel::exp(from[i + k] - largest);
          sum += kernel::sum(exps, count);
        }
        maxima[r] = largest;
        log_sums[r] = sum;
      }
    }
    map_in_place(log_sums, rows, [](T value) { return kernel::log(value); });
  }
};

template <class T, int Bytes>
struct LogSoftmaxRows {
  TENON_INLINE static void run(const T* x, T* y, int64_t rows, int64_t n) {
    T maxima[kBlock], log_sums[kBlock];
    const int64_t step = rows_in_block(n);
    for (int64_t r = 0; r < rows; r += step) {
      const int64_t count = std::min(step, rows - r);
      LogSumRows<T, Bytes>::run(x + r * n, count, n, maxima, log_sums);
      for (int64_t k = r; k < r + count; ++k) {
        const T largest = maxima[k - r], log_sum = log_sums[k - r];
        TENON_INDEPENDENT
        for (int64_t i = 0; i < n; ++i) y[k * n + i] = (x[k * n + i] - largest) - log_sum;
      }
    }
  }
};

// (g - sum(g y)) y, and for the logarithm g - sum(g) exp(y).
template <class T>
struct SoftmaxGradRows {
  TENON_INLINE static void run(const T* g, const T* y, T* to, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r, g += n, y += n, to += n) {
      const T sum = kernel::dot(g, y, n);
      TENON_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) to[i] = (g[i] - sum) * y[i];
    }
  }
};
template <class T>
struct LogSoftmaxGradRows {
  TENON_INLINE static void run(const T* g, const T* y, T* to, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r, g += n, y += n, to += n) {
      const T sum = kernel::sum(g, n);
      TENON_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) to[i] = g[i] - sum * kernel::exp(y[i]);
    }
  }
};

// Softmax over a dimension that is not the last: the slices beside each other are the vector.
template <class T, bool Logarithm>
struct SoftmaxColumns {
  static constexpr int64_t width = 128;
  TENON_INLINE static void run(const T* x, T* y, int64_t n, int64_t inner) {
    T largest[width], sums[width];
    for (int64_t from = 0; from < inner; from += width) {
      const int64_t count = std::min(width, inner - from);
      for (int64_t i = 0; i < count; ++i) {
        largest[i] = x[from + i];
        sums[i] = 0;
      }
      for (int64_t j = 1; j < n; ++j) {
        const T* row = x + j * inner + from;
        for (int64_t i = 0; i < count; ++i) largest[i] = row[i] > largest[i] ? row[i] : largest[i];
      }
      for (int64_t j = 0; j < n; ++j) {
        const T* row = x + j * inner + from;
        T* to = y + j * inner + from;
        TENON_INDEPENDENT
        for (int64_t i = 0; i < count; ++i) {
          const T shifted = row[i] - largest[i], power = kernel::exp(shifted);
          sums[i] += power;
          to[i] = Logarithm ? shifted : power;
        }
      }
      for (int64_t i = 0; i < count; ++i) sums[i] = Logarithm ? std::log(sums[i]) : T{1} / sums[i];
      for (int64_t j = 0; j < n; ++j) {
        T* to = y + j * inner + from;
        TENON_INDEPENDENT
        for (int64_t i = 0; i < count; ++i) to[i] = Logarithm ? to[i] - sums[i] : to[i] * sums[i];
      }
    }
  }
};

}  // namespace nn
