// Kernels written over vectors that are one register: a body for each width, compiled for the
// instruction set that has it alone.
#pragma once

#include "tenon/kernel/isa.hpp"

TENON_NAMESPACE_BEGIN
namespace kernel {

// Calls Body<Bytes>::run(arguments...), where `Bytes` is the size of the machine's registers: 16, 32 from
// v3 on, 64 from v4 on. Body<Bytes>::run is a `TENON_INLINE static void` of plain values and pointers.
template <template <int> class Body, class... A>
TENON_INLINE void run_by_registers(A... arguments) {
#if TENON_HAS_ISA_LOOPS
  switch (machine_isa()) {
    case TENON_ISA_V4:
      return detail::run_v4<Body<64>>(arguments...);
    case TENON_ISA_V3:
      return detail::run_v3<Body<32>>(arguments...);
    default:
      break;
  }
#endif
  detail::run_baseline<Body<16>>(arguments...);
}

}  // namespace kernel
TENON_NAMESPACE_END
