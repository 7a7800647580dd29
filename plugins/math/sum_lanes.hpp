// Sums: the lanes that sum, mean, var and sum_to_size gather elements in.
#pragma once

#include "reduction.hpp"

namespace math {

// f32 gathers in f32 lanes for a block and in f64 beyond it; integers wrap modulo 2^64.
template <class T>
struct SumPolicy : PolicyDefaults<T> {
  static constexpr bool wide = true;
  using In = T;
  using Lane = std::conditional_t<std::is_floating_point_v<T>, T,
                                  std::conditional_t<sizeof(T) >= 4, uint64_t, int32_t>>;
  using Total = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

  // Short enough for f32 lanes to stay exact, and for narrow integer lanes not to overflow.
  static constexpr int64_t kBlock = std::is_floating_point_v<T> ? 1024 : 16384;

  static constexpr Lane identity() { return 0; }
  template <class V, class X>
  MATH_INLINE void step(V& lanes, const X& elements) {
    V converted;
    convert(converted, elements);
    lanes += converted;
  }
  template <class V>
  MATH_INLINE void join(V& lanes, const V& others) {
    lanes += others;
  }
  MATH_INLINE void add(Total& total, Lane lane) { total += static_cast<Total>(lane); }
  static void merge(Total& total, const Total& other) { total += other; }
};

// The total as a number: unsigned ones stand for wrapped integers.
inline double number(double total) { return total; }
inline int64_t number(uint64_t total) { return static_cast<int64_t>(total); }

}  // namespace math
