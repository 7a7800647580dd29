// Kernels for every instruction set: dispatch, lanes for reductions, vector math.
#pragma once

#include <cstdint>
#include <cstring>
#include <math.h>

#include <tenon/plugin.hpp>

// GCC calls the C library's vector versions of functions that are declared so.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define NN_VECTOR_MATH __attribute__((simd("notinbranch")))
extern "C" {
NN_VECTOR_MATH float expf(float) noexcept;
NN_VECTOR_MATH double exp(double) noexcept;
NN_VECTOR_MATH float erff(float) noexcept;
NN_VECTOR_MATH double erf(double) noexcept;
NN_VECTOR_MATH float log1pf(float) noexcept;
NN_VECTOR_MATH double log1p(double) noexcept;
NN_VECTOR_MATH float expm1f(float) noexcept;
NN_VECTOR_MATH double expm1(double) noexcept;
}
#endif

#define NN_INLINE __attribute__((always_inline)) inline

namespace nn {

// For `if constexpr` in generic lambdas: the function of the argument's own precision.
NN_INLINE float exp_of(float x) { return ::expf(x); }
NN_INLINE double exp_of(double x) { return ::exp(x); }
NN_INLINE float erf_of(float x) { return ::erff(x); }
NN_INLINE double erf_of(double x) { return ::erf(x); }
NN_INLINE float log1p_of(float x) { return ::log1pf(x); }
NN_INLINE double log1p_of(double x) { return ::log1p(x); }
NN_INLINE float expm1_of(float x) { return ::expm1f(x); }
NN_INLINE double expm1_of(double x) { return ::expm1(x); }

// 64 bytes of elements; split by the compiler where registers are narrower.
template <class T>
struct Lanes {
  static constexpr int64_t count = 64 / static_cast<int64_t>(sizeof(T));
  typedef T Vector __attribute__((vector_size(64)));

  NN_INLINE static void load(Vector& to, const T* from) { std::memcpy(&to, from, sizeof(Vector)); }
};

// The sum of f(i) over [0, n), where `body(i)` gives one element and `lanes(i, vector)` the next 64
// bytes of them: several partial sums, so that neither latency nor rounding adds up.
template <class T>
NN_INLINE T lanes_sum(const T* x, int64_t n) {
  using L = Lanes<T>;
  T sum = 0;
  int64_t i = 0;
  if (n >= L::count) {
    typename L::Vector a{}, b{}, c{}, d{}, v;
    for (; i + 4 * L::count <= n; i += 4 * L::count) {
      L::load(v, x + i);
      a += v;
      L::load(v, x + i + L::count);
      b += v;
      L::load(v, x + i + 2 * L::count);
      c += v;
      L::load(v, x + i + 3 * L::count);
      d += v;
    }
    for (; i + L::count <= n; i += L::count) {
      L::load(v, x + i);
      a += v;
    }
    a = (a + b) + (c + d);
    for (int64_t k = 0; k < L::count; ++k) sum += a[k];
  }
  for (; i < n; ++i) sum += x[i];
  return sum;
}

// The sum of the products of two runs.
template <class T>
NN_INLINE T lanes_dot(const T* x, const T* y, int64_t n) {
  using L = Lanes<T>;
  T sum = 0;
  int64_t i = 0;
  if (n >= L::count) {
    typename L::Vector a{}, b{}, v, w;
    for (; i + 2 * L::count <= n; i += 2 * L::count) {
      L::load(v, x + i);
      L::load(w, y + i);
      a += v * w;
      L::load(v, x + i + L::count);
      L::load(w, y + i + L::count);
      b += v * w;
    }
    for (; i + L::count <= n; i += L::count) {
      L::load(v, x + i);
      L::load(w, y + i);
      a += v * w;
    }
    a += b;
    for (int64_t k = 0; k < L::count; ++k) sum += a[k];
  }
  for (; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

// The largest element; NaN is passed over where there is another. n >= 1.
template <class T>
NN_INLINE T lanes_max(const T* x, int64_t n) {
  using L = Lanes<T>;
  T largest = x[0];
  int64_t i = 0;
  if (n >= L::count) {
    typename L::Vector a, b, v;
    L::load(a, x);
    b = a;
    for (; i + 2 * L::count <= n; i += 2 * L::count) {
      L::load(v, x + i);
      a = v > a ? v : a;
      L::load(v, x + i + L::count);
      b = v > b ? v : b;
    }
    for (; i + L::count <= n; i += L::count) {
      L::load(v, x + i);
      a = v > a ? v : a;
    }
    a = b > a ? b : a;
    for (int64_t k = 0; k < L::count; ++k) largest = a[k] > largest ? a[k] : largest;
  }
  for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

#if TENON_HAS_ISA_LOOPS
template <class Kernel, class... A>
TENON_TARGET_V4 void run_v4(A... arguments) {
  Kernel::run(arguments...);
}
template <class Kernel, class... A>
TENON_TARGET_V3 void run_v3(A... arguments) {
  Kernel::run(arguments...);
}
#endif
template <class Kernel, class... A>
TENON_VECTORIZE void run_baseline(A... arguments) {
  Kernel::run(arguments...);
}

// Kernel::run, an inline function of plain values, compiled for the best instruction set of the
// machine.
template <class Kernel, class... A>
NN_INLINE void run(A... arguments) {
#if TENON_HAS_ISA_LOOPS
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return run_v4<Kernel>(arguments...);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return run_v3<Kernel>(arguments...);
#endif
  run_baseline<Kernel>(arguments...);
}

}  // namespace nn
