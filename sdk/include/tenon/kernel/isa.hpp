// Instruction sets: how a kernel is compiled for each, and which one this machine runs.
//
// The loops are plain C++ that compilers vectorize under target attributes. A library of vector
// types (Highway among them) was considered and not taken: its kernels are written over lanes, so
// one lambda over scalars could not serve them, and each plugin would depend on it.
//
// On x86-64 code is compiled for the baseline (SSE2), v3 (AVX2, FMA) and v4 (AVX-512); elsewhere
// for the baseline alone, and so in a build that defines TENON_SCALAR.
#pragma once

#include <cstdint>

#include "tenon/host.hpp"

// Before a function that a kernel's `run` calls: compiled into it, for each instruction set.
#define TENON_INLINE __attribute__((always_inline)) inline

#if defined(__x86_64__) && defined(__GNUC__) && !defined(TENON_SCALAR)
#define TENON_HAS_ISA_LOOPS 1  // loops for several instruction sets are compiled
#if defined(__clang__)
#define TENON_TARGET_V3 __attribute__((target("avx2,fma,bmi,bmi2")))
#define TENON_TARGET_V4 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2")))
#define TENON_VECTORIZE
#define TENON_INDEPENDENT
#else
#define TENON_OPTIMIZE optimize("O3", "no-math-errno", "no-trapping-math")
#define TENON_TARGET_V3 __attribute__((target("avx2,fma,bmi,bmi2"), TENON_OPTIMIZE))
#define TENON_TARGET_V4                                                                       \
  __attribute__((                                                                             \
      target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,prefer-vector-width=512"), \
      TENON_OPTIMIZE))
#define TENON_VECTORIZE __attribute__((TENON_OPTIMIZE))
// Before a loop whose iterations do not read what others write.
#define TENON_INDEPENDENT _Pragma("GCC ivdep")
#endif
#else
// 1 where loops for several instruction sets are compiled.
#define TENON_HAS_ISA_LOOPS 0
#define TENON_VECTORIZE
#define TENON_INDEPENDENT
#endif

TENON_NAMESPACE_BEGIN
namespace kernel {

// TENON_ISA_BASELINE, TENON_ISA_V3 or TENON_ISA_V4: the best of this machine, or less where the
// environment variable TENON_ISA says so. The host decides, for all plugins. Any thread.
inline uint32_t machine_isa() { return service::threads().machine_isa(); }

namespace detail {
// Body::run, a TENON_INLINE function, compiled for one instruction set.
template <class Body, class... A>
TENON_VECTORIZE void run_baseline(A... arguments) {
  Body::run(arguments...);
}
#if TENON_HAS_ISA_LOOPS
template <class Body, class... A>
TENON_TARGET_V3 void run_v3(A... arguments) {
  Body::run(arguments...);
}
template <class Body, class... A>
TENON_TARGET_V4 void run_v4(A... arguments) {
  Body::run(arguments...);
}
#endif
}  // namespace detail

// Calls Body::run(arguments...) as compiled for the machine's instruction set. Body::run is a
// `TENON_INLINE static void` of plain values and pointers.
template <class Body, class... A>
TENON_INLINE void run(A... arguments) {
#if TENON_HAS_ISA_LOOPS
  switch (machine_isa()) {
    case TENON_ISA_V4:
      return detail::run_v4<Body>(arguments...);
    case TENON_ISA_V3:
      return detail::run_v3<Body>(arguments...);
    default:
      break;
  }
#endif
  detail::run_baseline<Body>(arguments...);
}

}  // namespace kernel
TENON_NAMESPACE_END
