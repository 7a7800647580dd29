// exp of a row of scores and the sum that softmax and attention divide by.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include <tenon/kernel/lanes.hpp>
#include <tenon/kernel/math.hpp>

namespace nn {

namespace kernel = tenon::kernel;

// Partial results of a row, gathered beside each other in registers of so many bytes and joined in pairs,
// by the row's length alone.
template <class T, int Bytes>
struct RowLanes {
  using V = kernel::Vector<T, Bytes>;
  static constexpr int64_t line = Bytes / static_cast<int64_t>(sizeof(T));
  static constexpr int64_t count = 256 / static_cast<int64_t>(sizeof(T)), registers = count / line;
  V at[registers];

  // Join::join(to, from) adds lanes to lanes.
  template <class Join>
  TENON_INLINE T joined() {
    for (int64_t half = registers / 2; half > 0; half /= 2)
      for (int64_t k = 0; k < half; ++k) Join::join(at[k], at[k + half]);
    return across<Join, Bytes>(at[0]);
  }

 private:
  template <class Join, int Left>
  TENON_INLINE static T across(const kernel::Vector<T, Left>& lanes) {
    if constexpr (Left == 2 * sizeof(T)) {
      T low = lanes[0];
      Join::join(low, lanes[1]);
      return low;
    } else {
      kernel::Vector<T, Left / 2> low, high;
      std::memcpy(&low, &lanes, sizeof(low));
      std::memcpy(&high, reinterpret_cast<const char*>(&lanes) + sizeof(low), sizeof(high));
      Join::join(low, high);
      return across<Join, Left / 2>(low);
    }
  }
};
// From this length on a row is worked on alone.
template <class T>
constexpr int64_t kLongRow = 512 / static_cast<int64_t>(sizeof(T));

// The largest element of a long row; one that is NaN does not count: exp and the sum of the row
// are NaN.
template <class T, int Bytes>
TENON_INLINE T largest_of(const T* x, int64_t n) {
  using Lanes = RowLanes<T, Bytes>;
  Lanes lanes;
  const auto none = typename Lanes::V{} - std::numeric_limits<T>::infinity();
  for (auto& lane : lanes.at) lane = none;
  // The last stretch overlaps the one before.
  for (int64_t i = 0; i < n; i += Lanes::count) {
    const T* from = x + std::min(i, n - Lanes::count);
    for (int64_t k = 0; k < Lanes::registers; ++k) {
      typename Lanes::V next;
      kernel::detail::load_vector(next, from + k * Lanes::line);
      kernel::take_better_number<true>(lanes.at[k], next);
    }
  }
  return lanes.template joined<kernel::LargestNumberLanes<T>>();
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

// exp of a register of f32 in place, where a call for the whole register would put everything else aside, of
// numbers up to 88: within 1 unit in the last place; less exact below -87.33, where exp is subnormal, 0 below
// -87.683; NaN for NaN. It is 2^n e^r with n = round(x / ln 2), e^r by a polynomial whose largest relative
// error is 3e-9.
template <int Bytes>
TENON_INLINE void to_exp(kernel::Vector<float, Bytes>& x) {
  using V = kernel::Vector<float, Bytes>;
  using Whole = kernel::Vector<int32_t, Bytes>;
  // 1.5 * 2^23 and the bias of exponents: added to it, a number becomes whole, and its last bits are the
  // exponent of 2^n.
  constexpr float rounding = 12582912 + 127;
  constexpr int32_t mantissa = 23;
  const V low = V{} - 88;
  x = x < low ? low : x;
  const V rounded = x * 1.44269504F + rounding, n = rounded - rounding;
  const V r = x - n * 0.693359375F + n * 2.12194440e-4F;
  V p = V{} + 1.3814540580e-3F;
  p = p * r + 8.3687454462e-3F;
  p = p * r + 4.1668388993e-2F;
  p = p * r + 1.6666521132e-1F;
  p = p * r + 4.9999994040e-1F;
  p = p * r + 1;
  p = p * r + 1;
  x = p * V(Whole(rounded) << mantissa);
}

// A register of a row, and its part of the sum.
template <int Bytes>
TENON_INLINE void exp_register(const float* x, float* y, float shift,
                               kernel::Vector<float, Bytes>& sum) {
  kernel::Vector<float, Bytes> power;
  kernel::detail::load_vector(power, x);
  power -= shift;
  to_exp<Bytes>(power);
  std::memcpy(y, &power, sizeof(power));
  sum += power;
}

// y = exp(x - shift) of a long row; gives the sum. `x` may be `y`. What follows in `ahead` elements is
// fetched while exp keeps the processor busy; 0: nothing.
template <class T, int Bytes>
TENON_INLINE T exp_long_row(const T* x, T* y, int64_t n, T shift, int64_t ahead) {
  using Lanes = RowLanes<T, Bytes>;
  constexpr int64_t step = Lanes::count, line = Lanes::line;
  const auto fetch = [&](int64_t i) {
    for (int64_t k = 0; ahead != 0 && k < step; k += 64 / static_cast<int64_t>(sizeof(T))) {
      __builtin_prefetch(x + ahead + i + k, 0, 2);
      __builtin_prefetch(y + ahead + i + k, 1, 2);
    }
  };
  Lanes lanes{};
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    for (; i + step <= n; i += step) {
      fetch(i);
      for (int64_t k = 0; k < Lanes::registers; ++k) {
        exp_register<Bytes>(x + i + k * line, y + i + k * line, shift, lanes.at[k]);
      }
    }
    if (i != n) {
      T rest[step];
      const auto left = static_cast<size_t>(n - i) * sizeof(T);
      std::fill_n(rest, step, -std::numeric_limits<T>::infinity());
      std::memcpy(rest, x + i, left);
      for (int64_t k = 0; k < Lanes::registers; ++k) {
        exp_register<Bytes>(rest + k * line, rest + k * line, shift, lanes.at[k]);
      }
      std::memcpy(y + i, rest, left);
    }
    return lanes.template joined<kernel::SumLanes<T>>();
  } else {
    alignas(64) T powers[step];
    for (; i + step <= n; i += step) {
      fetch(i);
      TENON_INDEPENDENT
      for (int64_t k = 0; k < step; ++k) powers[k] = kernel::exp(x[i + k] - shift);
      for (int64_t k = 0; k < Lanes::registers; ++k) {
        typename Lanes::V power;
        kernel::detail::load_vector(power, powers + k * line);
        lanes.at[k] += power;
      }
      std::memcpy(y + i, powers, sizeof(powers));
    }
    const T sum = lanes.template joined<kernel::SumLanes<T>>();
    if (i == n) return sum;
    for (int64_t k = i; k < n; ++k) y[k] = x[k] - shift;
    map_in_place(y + i, n - i, [](T value) { return kernel::exp(value); });
    return sum + kernel::sum(y + i, n - i);
  }
}

}  // namespace nn
