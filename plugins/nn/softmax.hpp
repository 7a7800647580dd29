// Kernels over rows: softmax, its logarithm, and what cross_entropy needs of both.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <tenon/kernel/lanes.hpp>
#include <tenon/plugin.hpp>

namespace nn {

namespace kernel = tenon::kernel;

// Short rows are worked on together, in blocks of this many elements, so that exp runs over long
// stretches.
inline constexpr int64_t kBlock = 2048;
inline int64_t rows_in_block(int64_t n) {
  return std::max<int64_t>(1, kBlock / std::max<int64_t>(n, 1));
}

// A function of vector math of each element in place, always in whole registers: its vector and its
// scalar form round differently, and where a stretch begins and ends depends on how threads share
// the rows.
template <class T, class Function>
TENON_INLINE void map_in_place(T* y, int64_t count, Function function) {
  constexpr int64_t line = 64 / static_cast<int64_t>(sizeof(T)), width = 4 * line;
  int64_t i = 0;
  for (; i + width <= count; i += width) {
    TENON_INDEPENDENT
    for (int64_t k = 0; k < width; ++k) y[i + k] = function(y[i + k]);
  }
  if (i == count) return;
  alignas(64) T rest[width]{};
  const int64_t left = count - i, padded = (left + line - 1) / line * line;
  std::memcpy(rest, y + i, static_cast<size_t>(left) * sizeof(T));
  TENON_INDEPENDENT
  for (int64_t k = 0; k < padded; ++k) rest[k] = function(rest[k]);
  std::memcpy(y + i, rest, static_cast<size_t>(left) * sizeof(T));
}

// Partial results of a row, gathered beside each other and joined in pairs, by its length alone.
template <class T>
struct RowLanes {
  static constexpr int64_t line = 64 / static_cast<int64_t>(sizeof(T)), count = 4 * line;
  alignas(64) T at[count];

  template <class Join>
  TENON_INLINE T joined(Join join) {
    for (int64_t width = count / 2; width > 0; width /= 2) {
      TENON_INDEPENDENT
      for (int64_t k = 0; k < width; ++k) at[k] = join(at[k], at[k + width]);
    }
    return at[0];
  }
  TENON_INLINE T sum() {
    return joined([](T a, T b) { return a + b; });
  }
};

// From this length on a row is worked on alone.
template <class T>
constexpr int64_t kLongRow = 2 * RowLanes<T>::count;

// The largest element of a long row; one that is NaN does not count: exp and the sum of the row
// are NaN.
template <class T>
TENON_INLINE T largest_of(const T* x, int64_t n) {
  RowLanes<T> lanes;
  constexpr int64_t step = RowLanes<T>::count;
  const auto larger = [](T a, T b) { return a > b ? a : b; };
  for (int64_t k = 0; k < step; ++k) lanes.at[k] = -std::numeric_limits<T>::infinity();
  // The last stretch overlaps the one before.
  for (int64_t i = 0; i < n; i += step) {
    const T* from = x + std::min(i, n - step);
    TENON_INDEPENDENT
    for (int64_t k = 0; k < step; ++k) lanes.at[k] = larger(from[k], lanes.at[k]);
  }
  return lanes.joined(larger);
}

// y = exp(x - largest of the row), not divided by its sum, which goes to sums[row]; maxima[row]
// when it is not null.
template <class T>
struct ExpRows {
  TENON_INLINE static void run(const T* x, T* y, int64_t rows, int64_t n, T* sums, T* maxima) {
    // By the row's length, not by how many rows a thread has left: the two ways round differently.
    if (n >= kLongRow<T>) {
      for (int64_t r = 0; r < rows; ++r)
        run_long(x + r * n, y + r * n, n, sums + r, maxima == nullptr ? nullptr : maxima + r);
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

 private:
  // While exp keeps the processor busy, what comes next is fetched: the row behind this one.
  TENON_INLINE static void run_long(const T* x, T* y, int64_t n, T* sum, T* maximum) {
    constexpr int64_t line = RowLanes<T>::line, step = RowLanes<T>::count;
    const T largest = largest_of(x, n);
    if (maximum != nullptr) *maximum = largest;
    RowLanes<T> lanes{};
    int64_t i = 0;
    for (; i + step <= n; i += step) {
      for (int64_t k = 0; k < step; k += line) {
        __builtin_prefetch(x + n + i + k, 0, 2);
        __builtin_prefetch(y + n + i + k, 1, 2);
      }
      TENON_INDEPENDENT
      for (int64_t k = 0; k < step; ++k) {
        const T power = kernel::exp(x[i + k] - largest);
        y[i + k] = power;
        lanes.at[k] += power;
      }
    }
    *sum = lanes.sum();
    if (i == n) return;
    for (int64_t k = i; k < n; ++k) y[k] = x[k] - largest;
    map_in_place(y + i, n - i, [](T value) { return kernel::exp(value); });
    *sum += kernel::sum(y + i, n - i);
  }
};

template <class T>
struct SoftmaxRows {
  TENON_INLINE static void run(const T* x, T* y, int64_t rows, int64_t n) {
    T sums[kBlock];
    const int64_t step = rows_in_block(n);
    for (int64_t r = 0; r < rows; r += step) {
      const int64_t count = std::min(step, rows - r);
      T* to = y + r * n;
      ExpRows<T>::run(x + r * n, to, count, n, sums, nullptr);
      for (int64_t k = 0; k < count; ++k) {
        const T factor = T{1} / sums[k];
        TENON_INDEPENDENT
        for (int64_t i = 0; i < n; ++i) to[k * n + i] *= factor;
      }
    }
  }
};

// For each row: its largest element and the logarithm of the sum of exp(x - largest).
template <class T>
struct LogSumRows {
  TENON_INLINE static void run(const T* x, int64_t rows, int64_t n, T* maxima, T* log_sums) {
    T exps[kBlock];
    if (n <= kBlock) {
      const int64_t step = rows_in_block(n);
      for (int64_t r = 0; r < rows; r += step) {
        const int64_t count = std::min(step, rows - r);
        ExpRows<T>::run(x + r * n, exps, count, n, log_sums + r, maxima + r);
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

template <class T>
struct LogSoftmaxRows {
  TENON_INLINE static void run(const T* x, T* y, int64_t rows, int64_t n) {
    T maxima[kBlock], log_sums[kBlock];
    const int64_t step = rows_in_block(n);
    for (int64_t r = 0; r < rows; r += step) {
      const int64_t count = std::min(step, rows - r);
      LogSumRows<T>::run(x + r * n, count, n, maxima, log_sums);
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
