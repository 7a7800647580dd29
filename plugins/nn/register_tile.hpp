// Tiles of a product of matrices in registers: rows of one times two registers of the other's columns.
#pragma once

#include <cstdint>

#include <tenon/kernel/lanes.hpp>
#include <tenon/kernel/registers.hpp>

#include "common.hpp"

namespace nn {

template <class T, int Bytes>
struct RegisterTile {
  using V = kernel::Vector<T, Bytes>;
  static constexpr auto lanes = static_cast<int64_t>(sizeof(V) / sizeof(T));
  static constexpr int64_t columns = 2 * lanes;
  static constexpr int most_rows = Bytes == 64 ? 12 : 6;

  // sums[r] = the sum of rows[r * stride + i] * lines.at(i)[0, columns) for i of [0, depth), for `Rows` rows. Few
  // rows have several sums for each element, which keep the units busy.
  template <int Rows, class Lines>
  TENON_INLINE static void sum(const Lines& lines, const T* rows, int64_t stride, int64_t depth,
                               V (&sums)[Rows][2]) {
    constexpr int parts = Rows == 1 ? 4 : Rows <= 3 ? 2 : 1;
    const T* in[(Rows + 2) / 3];
#pragma GCC unroll 4
    for (int g = 0; g < (Rows + 2) / 3; ++g) in[g] = rows + int64_t{3} * g * stride;
    V partial[parts][Rows][2] = {};
    int64_t i = 0;
    for (; i + parts <= depth; i += parts) {
#pragma GCC unroll 4
      for (int part = 0; part < parts; ++part)
        add<Rows>(partial[part], in, stride, i + part, lines.at(i + part));
    }
    for (; i < depth; ++i) add<Rows>(partial[0], in, stride, i, lines.at(i));
#pragma GCC unroll 2
    for (int half = parts / 2; half > 0; half /= 2) {
#pragma GCC unroll 2
      for (int part = 0; part < half; ++part) {
#pragma GCC unroll 12
        for (int r = 0; r < Rows; ++r) {
          partial[part][r][0] += partial[part + half][r][0];
          partial[part][r][1] += partial[part + half][r][1];
        }
      }
    }
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      sums[r][0] = partial[0][r][0];
      sums[r][1] = partial[0][r][1];
    }
  }

 private:
  template <int Rows>
  TENON_INLINE static void add(V (&sums)[Rows][2], const T* const* in, int64_t stride, int64_t i,
                               const T* line) {
    V low, high;
    kernel::detail::load_vector(low, line);
    kernel::detail::load_vector(high, line + lanes);
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      const T x = in[r / 3][(r % 3) * stride + i];
      sums[r][0] += low * x;
      sums[r][1] += high * x;
    }
  }
};

}  // namespace nn
