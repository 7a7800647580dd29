// Largest and smallest elements: the comparison and the lanes that amax, max and logsumexp share.
#pragma once

#include "reduction.hpp"

namespace math {

template <class T, bool Largest>
constexpr T worst() {
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::has_infinity)
    return Largest ? -Limits::infinity() : Limits::infinity();
  else
    return Largest ? Limits::lowest() : Limits::max();
}

// Puts the better of each pair into `best`; NaN beats every number. For numbers and for vectors.
template <bool Largest, class V>
__attribute__((always_inline)) inline void take_better(V& best, const V& other) {
  if constexpr (std::is_integral_v<V>) {
    best = (Largest ? other > best : other < best) ? other : best;
  } else {
    const auto unordered = other != other;
    if constexpr (Largest)
      best = ((other > best) | unordered) ? other : best;
    else
      best = ((other < best) | unordered) ? other : best;
  }
}

template <class T, bool Largest>
struct ExtremumPolicy : PolicyDefaults<T> {
  using In = T;
  using Lane = T;
  struct Total {
    T value = worst<T, Largest>();
  };
  static constexpr int64_t kBlock = 1 << 16;
  static constexpr Lane identity() { return worst<T, Largest>(); }
  template <class V>
  MATH_INLINE void step(V& lanes, const V& elements) {
    take_better<Largest>(lanes, elements);
  }
  // One instruction, which drops a NaN among the elements.
  static constexpr bool separates_nan = std::is_floating_point_v<T>;
  template <class V>
  MATH_INLINE void step_numbers(V& lanes, const V& elements) {
    if constexpr (Largest)
      lanes = elements > lanes ? elements : lanes;
    else
      lanes = elements < lanes ? elements : lanes;
  }
  template <class V>
  MATH_INLINE void join(V& lanes, const V& others) {
    take_better<Largest>(lanes, others);
  }
  MATH_INLINE void add(Total& total, Lane lane) { take_better<Largest>(total.value, lane); }
  static void merge(Total& total, const Total& other) {
    take_better<Largest>(total.value, other.value);
  }
};

}  // namespace math
