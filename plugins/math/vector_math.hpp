// The C library's functions as compilers vectorize them: glibc's libmvec, to 4 units in the last
// place.
//
// A loop that calls vector_math::exp(x) becomes a loop over whole registers where libmvec and the
// compiler allow it (GCC on x86-64), and calls the scalar function everywhere else.
#pragma once

#include <cmath>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 35)
#define VECTOR_MATH __attribute__((simd("notinbranch"), const))
#endif
#endif
#if !defined(VECTOR_MATH)
#define VECTOR_MATH __attribute__((const))
#endif

#define VECTOR_MATH_UNARY(name)                         \
  extern "C" VECTOR_MATH float name##f(float) noexcept; \
  extern "C" VECTOR_MATH double name(double) noexcept;  \
  namespace vector_math {                               \
  inline float name(float x) { return ::name##f(x); }   \
  inline double name(double x) { return ::name(x); }    \
  }
#define VECTOR_MATH_BINARY(name)                                  \
  extern "C" VECTOR_MATH float name##f(float, float) noexcept;    \
  extern "C" VECTOR_MATH double name(double, double) noexcept;    \
  namespace vector_math {                                         \
  inline float name(float x, float y) { return ::name##f(x, y); } \
  inline double name(double x, double y) { return ::name(x, y); } \
  }

VECTOR_MATH_UNARY(exp)
VECTOR_MATH_UNARY(exp2)
VECTOR_MATH_UNARY(expm1)
VECTOR_MATH_UNARY(log)
VECTOR_MATH_UNARY(log2)
VECTOR_MATH_UNARY(log10)
VECTOR_MATH_UNARY(log1p)
VECTOR_MATH_UNARY(sin)
VECTOR_MATH_UNARY(cos)
VECTOR_MATH_UNARY(tan)
VECTOR_MATH_UNARY(asin)
VECTOR_MATH_UNARY(acos)
VECTOR_MATH_UNARY(atan)
VECTOR_MATH_UNARY(sinh)
VECTOR_MATH_UNARY(cosh)
VECTOR_MATH_UNARY(tanh)
VECTOR_MATH_UNARY(erf)
VECTOR_MATH_BINARY(pow)
VECTOR_MATH_BINARY(atan2)

#undef VECTOR_MATH_UNARY
#undef VECTOR_MATH_BINARY
#undef VECTOR_MATH
