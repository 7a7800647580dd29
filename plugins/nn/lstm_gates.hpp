// The gates of an LSTM at one time: sigmoids, tanh and the states that follow, in one pass.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common.hpp"

namespace nn {

inline constexpr int64_t lstm_step_work = 64;  // work for an element, in additions

// Columns that are worked on together, in whole registers of the widest kind: a vector function and its
// scalar form round differently.
template <class T>
inline constexpr int64_t lstm_columns = 256 / static_cast<int64_t>(sizeof(T));

// The gates of some columns of a row, and the states that follow.
template <class T>
struct LstmGates {
  T input[lstm_columns<T>], forget[lstm_columns<T>], fresh[lstm_columns<T>],
      output[lstm_columns<T>];
  T before[lstm_columns<T>], cell[lstm_columns<T>],
      bent[lstm_columns<T>];  // cell states, and tanh of the new one

  // `gates` and `hidden_gates` are rows of 4 n, of which columns [0, count) count.
  TENON_INLINE void compute(const T* gates, const T* hidden_gates, const T* cells, int64_t n,
                            int64_t count) {
    T* const all[] = {input, forget, fresh, output};
    for (int g = 0; g < 4; ++g) {
      const T *a = gates + g * n, *b = hidden_gates + g * n;
      TENON_INDEPENDENT
      for (int64_t k = 0; k < count; ++k) all[g][k] = a[k] + b[k];
      for (int64_t k = count; k < lstm_columns<T>; ++k) all[g][k] = 0;
    }
    std::copy_n(cells, count, before);
    std::fill(before + count, before + lstm_columns<T>, T{0});
    for (T* gate : {input, forget, output}) {
      TENON_INDEPENDENT
      for (int64_t k = 0; k < lstm_columns<T>; ++k) gate[k] = T{1} / (T{1} + kernel::exp(-gate[k]));
    }
    TENON_INDEPENDENT
    for (int64_t k = 0; k < lstm_columns<T>; ++k) fresh[k] = kernel::tanh(fresh[k]);
    TENON_INDEPENDENT
    for (int64_t k = 0; k < lstm_columns<T>; ++k) {
      cell[k] = forget[k] * before[k] + input[k] * fresh[k];
      bent[k] = kernel::tanh(cell[k]);
    }
  }
};

// Rows of one step. `next` may be `cells`.
template <class T>
struct LstmStepRows {
  TENON_INLINE static void run(const T* gates, const T* hidden_gates, const T* cells, T* hidden,
                               T* next, int64_t rows, int64_t n) {
    LstmGates<T> g;
    for (int64_t r = 0; r < rows; ++r, gates += 4 * n, hidden_gates += 4 * n) {
      for (int64_t from = 0; from < n; from += lstm_columns<T>) {
        const int64_t count = std::min(lstm_columns<T>, n - from), at = r * n + from;
        g.compute(gates + from, hidden_gates + from, cells + at, n, count);
        for (int64_t k = 0; k < lstm_columns<T>; ++k) g.output[k] *= g.bent[k];
        std::copy_n(g.output, count, hidden + at);
        std::copy_n(g.cell, count, next + at);
      }
    }
  }
};

}  // namespace nn
