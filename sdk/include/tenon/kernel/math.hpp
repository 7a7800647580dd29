// Vector math: the functions of <cmath> in loops that vectorize.
//
// With GCC on x86-64 and glibc 2.35 or later a loop that calls kernel::exp(x), std::exp(x) or
// expf(x) calls glibc's vector library, libmvec, for a whole register at a time. To that end this
// header declares the C functions again, as `simd`; a kernel writes nothing else. Elsewhere (Clang,
// other processors, musl) the same source calls the scalar functions.
//
// By AVX2 and AVX-512 exp and log of f32 are Tenon's own: close_math.hpp.
//
// Why libmvec: it is part of the C library that every plugin links already, covers every function
// below for SSE2, AVX2 and AVX-512, and serves lambdas over scalars as they are written. Highway's
// math has no tan, cosh, erf or pow; functions of our own would be slower to build and less tested.
//
// Accuracy: at most 4 units in the last place of the exact result, in every instruction set (rsqrt
// 1.5, sqrt 0.5); NaN, infinities, signed zeros and denormals as IEEE 754 and C define them.
// The tests check it over arguments of every kind.
#pragma once

#include <cstdint>  // and with it the C library's version

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && \
    !defined(TENON_SCALAR)
#if __GLIBC_PREREQ(2, 35)  // an error where it is unknown
// Whether the functions below are calls for whole registers.
#define TENON_HAS_VECTOR_CALLS 1
#endif
#endif
#if !defined(TENON_HAS_VECTOR_CALLS)
#define TENON_HAS_VECTOR_CALLS 0
#endif

#include "tenon/kernel/isa.hpp"

#if TENON_HAS_VECTOR_CALLS
#define TENON_SIMD(...) extern "C" __attribute__((simd("notinbranch"))) __VA_ARGS__ noexcept;
#else
#include <math.h>
#define TENON_SIMD(...)
#endif
#define TENON_UNARY_MATH(name)                              \
  TENON_SIMD(float name##f(float))                          \
  TENON_SIMD(double name(double))                           \
  TENON_NAMESPACE_BEGIN                                     \
  namespace kernel {                                        \
  TENON_INLINE float name(float x) { return ::name##f(x); } \
  TENON_INLINE double name(double x) { return ::name(x); }  \
  }                                                         \
  TENON_NAMESPACE_END
#define TENON_BINARY_MATH(name)                                         \
  TENON_SIMD(float name##f(float, float))                               \
  TENON_SIMD(double name(double, double))                               \
  TENON_NAMESPACE_BEGIN                                                 \
  namespace kernel {                                                    \
  TENON_INLINE float name(float x, float y) { return ::name##f(x, y); } \
  TENON_INLINE double name(double x, double y) { return ::name(x, y); } \
  }                                                                     \
  TENON_NAMESPACE_END

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
TENON_UNARY_MATH(exp)
TENON_UNARY_MATH(exp2)
TENON_UNARY_MATH(expm1)
TENON_UNARY_MATH(log)
TENON_UNARY_MATH(log2)
TENON_UNARY_MATH(log10)
TENON_UNARY_MATH(log1p)
TENON_UNARY_MATH(sin)
TENON_UNARY_MATH(cos)
TENON_UNARY_MATH(tan)
TENON_UNARY_MATH(asin)
TENON_UNARY_MATH(acos)
TENON_UNARY_MATH(atan)
TENON_UNARY_MATH(sinh)
TENON_UNARY_MATH(cosh)
TENON_UNARY_MATH(tanh)
TENON_UNARY_MATH(asinh)
TENON_UNARY_MATH(acosh)
TENON_UNARY_MATH(atanh)
TENON_UNARY_MATH(erf)
TENON_UNARY_MATH(erfc)
TENON_UNARY_MATH(cbrt)
TENON_BINARY_MATH(pow)
TENON_BINARY_MATH(atan2)
TENON_BINARY_MATH(hypot)
#pragma GCC diagnostic pop

#undef TENON_UNARY_MATH
#undef TENON_BINARY_MATH
#undef TENON_SIMD

#if TENON_HAS_VECTOR_CALLS
#include "tenon/kernel/close_math.hpp"
#endif

TENON_NAMESPACE_BEGIN
namespace kernel {

// One instruction each, on every machine.
TENON_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
TENON_INLINE double sqrt(double x) { return __builtin_sqrt(x); }  // exactly rounded
template <class T>
TENON_INLINE T rsqrt(T x) {  // 1 / sqrt(x)
  return T{1} / sqrt(x);
}

}  // namespace kernel
TENON_NAMESPACE_END
