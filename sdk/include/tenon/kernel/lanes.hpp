// Lanes: a run of elements gathered in several partial results at once, so that neither latency nor
// rounding adds up.
//
// A policy says what a lane does with elements; V and X are Lane and In, or vectors of them:
//   using In, Lane               the element type (Stored<T>), and what elements are gathered in
//   identity()                   the empty lane
//   step(V&, const X&)           adds elements to lanes
//   join(V&, const V&)           adds lanes to lanes
//   separates_nan                true: `step_numbers` may lose NaN, and the run watches for it; the
//                                lane becomes NaN then
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/kernel/isa.hpp"

TENON_NAMESPACE_BEGIN
namespace kernel {

template <class T, int Bytes>
struct VectorOf {                                      // see Vector
  typedef T Type __attribute__((vector_size(Bytes)));  // the vector
};
// `Bytes` bytes of elements; compilers split it where registers are narrower.
template <class T, int Bytes>
using Vector = typename VectorOf<T, Bytes>::Type;

// Elementwise conversion between vectors of one length, or numbers.
template <class To, class From>
TENON_INLINE void convert(To& to, const From& from) {
  if constexpr (std::is_arithmetic_v<To>)
    to = static_cast<To>(from);
  else
    to = __builtin_convertvector(from, To);
}

namespace detail {
// A vector from memory of any alignment.
template <class V>
TENON_INLINE void load_vector(V& to, const void* from) {
  __builtin_memcpy(&to, from, sizeof(V));
}
template <class V, class T>
TENON_INLINE void add_products(V& lanes, const T* x, const T* y) {
  V v, w;
  load_vector(v, x);
  load_vector(w, y);
  lanes += v * w;
}
// Asks for `Count` elements that are read `bytes` later: the processor's own guesses end with the
// page.
template <int64_t Count, class T>
TENON_INLINE void fetch_ahead(const T* in, int64_t bytes) {
  const char* const later = reinterpret_cast<const char*>(in) + bytes;
  for (int64_t at = 0; at < Count * static_cast<int64_t>(sizeof(T)); at += 64)
    __builtin_prefetch(later + at);
}
}  // namespace detail

// Gathers `count` adjacent elements, in vectors of `Bytes`. `Ahead`: how many bytes ahead memory is
// fetched; 0 for what is in the cache.
template <class Policy, int Bytes, int64_t Ahead = 0>
TENON_INLINE typename Policy::Lane gather_run(const typename Policy::In* in, int64_t count) {
  using In = typename Policy::In;
  using Lane = typename Policy::Lane;
  constexpr auto N = static_cast<int64_t>(Bytes / sizeof(Lane));
  using LaneVector = Vector<Lane, Bytes>;
  using InVector = Vector<In, static_cast<int>(N * static_cast<int64_t>(sizeof(In)))>;
  // Compilers widen small integers better than vector conversions do.
  constexpr bool widens = std::is_integral_v<Lane> && sizeof(In) < sizeof(Lane);
  Lane lane = Policy::identity();
  int64_t i = 0;
  if (!widens && count >= N) {
    const LaneVector empty = LaneVector{} + Policy::identity();
    LaneVector a = empty, b = empty, c = empty, d = empty;
    InVector w, x, y, z;
    [[maybe_unused]] decltype(w != w) unordered{};
    for (; i + 4 * N <= count; i += 4 * N) {
      if constexpr (Ahead != 0) detail::fetch_ahead<4 * N>(in + i, Ahead);
      detail::load_vector(w, in + i);
      detail::load_vector(x, in + i + N);
      detail::load_vector(y, in + i + 2 * N);
      detail::load_vector(z, in + i + 3 * N);
      if constexpr (Policy::separates_nan) {
        Policy::step_numbers(a, w);
        Policy::step_numbers(b, x);
        Policy::step_numbers(c, y);
        Policy::step_numbers(d, z);
        unordered |= ((w != w) | (x != x)) | ((y != y) | (z != z));
      } else {
        Policy::step(a, w);
        Policy::step(b, x);
        Policy::step(c, y);
        Policy::step(d, z);
      }
    }
    for (; i + N <= count; i += N) {
      detail::load_vector(w, in + i);
      Policy::step(a, w);
    }
    Policy::join(a, b);
    Policy::join(c, d);
    Policy::join(a, c);
    for (int64_t k = 0; k < N; ++k) {
      const Lane one = a[k];
      Policy::join(lane, one);
      if constexpr (Policy::separates_nan) {
        if (unordered[k] != 0) lane = std::numeric_limits<Lane>::quiet_NaN();
      }
    }
  }
  for (; i < count; ++i) Policy::step(lane, in[i]);
  return lane;
}

// Gathers `count` elements that are `stride` elements apart.
template <class Policy>
TENON_INLINE typename Policy::Lane gather_strided(const typename Policy::In* in, int64_t count,
                                                  int64_t stride) {
  typename Policy::Lane a = Policy::identity(), b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 4 <= count; i += 4, in += 4 * stride) {
    Policy::step(a, in[0]);
    Policy::step(b, in[stride]);
    Policy::step(c, in[2 * stride]);
    Policy::step(d, in[3 * stride]);
  }
  for (; i < count; ++i, in += stride) Policy::step(a, in[0]);
  Policy::join(a, b);
  Policy::join(c, d);
  Policy::join(a, c);
  return a;
}

// ---- policies ----

template <class T>
struct SumLanes {  // sums: a policy
  using In = T;    // element type
  // Integers wrap modulo 2^64.
  using Lane = std::conditional_t<std::is_floating_point_v<T>, T,
                                  std::conditional_t<sizeof(T) >= 4, uint64_t, int32_t>>;
  static constexpr bool separates_nan = false;    // NaN stays in a sum
  static constexpr Lane identity() { return 0; }  // zero
  template <class V, class X>
  TENON_INLINE static void step(V& lanes, const X& elements) {  // adds elements
    V converted;
    convert(converted, elements);
    lanes += converted;
  }
  template <class V>
  TENON_INLINE static void join(V& lanes, const V& others) {  // adds lanes
    lanes += others;
  }
};

// The value that every element beats.
template <class T, bool Largest>
constexpr T worst() {
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::has_infinity)
    return Largest ? -Limits::infinity() : Limits::infinity();
  else
    return Largest ? Limits::lowest() : Limits::max();
}
// Puts the better of each pair into `best`, in one instruction, which passes over NaN in `other`. For numbers
// and for vectors.
template <bool Largest, class V>
TENON_INLINE void take_better_number(V& best, const V& other) {
  if constexpr (Largest)
    best = other > best ? other : best;
  else
    best = other < best ? other : best;
}
// Takes the better value, where NaN beats every number. In this order: GCC joins the two choices in
// another one, and then compares wide vectors one element after the other.
template <bool Largest, class V>
TENON_INLINE void take_better(V& best, const V& other) {
  if constexpr (!std::is_integral_v<V>) {
    const V with_nan = other != other ? other : best;
    best = with_nan;
  }
  take_better_number<Largest>(best, other);
}

// The largest or smallest element; NaN where there is one.
template <class T, bool Largest>
struct ExtremumLanes {
  using In = T;                                                       // element type
  using Lane = T;                                                     // as the elements
  static constexpr bool separates_nan = std::is_floating_point_v<T>;  // comparisons lose NaN
  static constexpr Lane identity() { return worst<T, Largest>(); }    // the worst
  template <class V>
  TENON_INLINE static void step(V& lanes, const V& elements) {  // keeps the better
    take_better<Largest>(lanes, elements);
  }
  template <class V>
  TENON_INLINE static void step_numbers(V& lanes, const V& elements) {  // without NaN
    take_better_number<Largest>(lanes, elements);
  }
  template <class V>
  TENON_INLINE static void join(V& lanes, const V& others) {  // keeps the better
    take_better<Largest>(lanes, others);
  }
};
// The largest number; NaN is passed over.
template <class T>
struct LargestNumberLanes : ExtremumLanes<T, true> {
  static constexpr bool separates_nan = false;  // none of integers
  template <class V>
  TENON_INLINE static void step(V& lanes, const V& elements) {  // keeps the better
    take_better_number<true>(lanes, elements);
  }
  template <class V>
  TENON_INLINE static void join(V& lanes, const V& others) {  // keeps the better
    take_better_number<true>(lanes, others);
  }
};

// ---- of floating elements in the cache, for kernels that kernel::run compiles ----

// Bytes of a vector that is one register from AVX2 on. Wider ones are kept in memory there.
constexpr int register_bytes = 32;

template <class T>
TENON_INLINE T sum(const T* x, int64_t count) {  // sum of contiguous elements
  return gather_run<SumLanes<T>, register_bytes>(x, count);
}
// The largest number of a row: -inf when there is none.
template <class T>
TENON_INLINE T largest_number(const T* x, int64_t count) {
  return gather_run<LargestNumberLanes<T>, register_bytes>(x, count);
}
// The sum of a vector's lanes, by halves: one lane after another would wait for each addition.
template <class T, int Bytes>
TENON_INLINE T add_lanes(const Vector<T, Bytes>& lanes) {
  if constexpr (Bytes == 2 * sizeof(T)) {
    return lanes[0] + lanes[1];
  } else {
    Vector<T, Bytes / 2> low, high;
    __builtin_memcpy(&low, &lanes, sizeof(low));
    __builtin_memcpy(&high, reinterpret_cast<const char*>(&lanes) + sizeof(low), sizeof(high));
    low += high;
    return add_lanes<T, Bytes / 2>(low);
  }
}
// The sum of products.
template <class T>
TENON_INLINE T dot(const T* x, const T* y, int64_t count) {
  using V = Vector<T, register_bytes>;
  constexpr auto N = static_cast<int64_t>(sizeof(V) / sizeof(T));
  V a{}, b{}, c{}, d{};
  int64_t i = 0;
  for (; i + 4 * N <= count; i += 4 * N) {
    detail::add_products(a, x + i, y + i);
    detail::add_products(b, x + i + N, y + i + N);
    detail::add_products(c, x + i + 2 * N, y + i + 2 * N);
    detail::add_products(d, x + i + 3 * N, y + i + 3 * N);
  }
  for (; i + N <= count; i += N) detail::add_products(a, x + i, y + i);
  T total = add_lanes<T, register_bytes>((a + b) + (c + d));
  for (; i < count; ++i) total += x[i] * y[i];
  return total;
}

}  // namespace kernel
TENON_NAMESPACE_END
