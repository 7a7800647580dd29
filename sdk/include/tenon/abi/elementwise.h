/* Elementwise kernels: inner loops by instruction set and dtype. The host does broadcasting,
 * strides, dtypes and threads. */
#ifndef TENON_ABI_ELEMENTWISE_H
#define TENON_ABI_ELEMENTWISE_H

#include <stdint.h>

#include "attributes.h"
#include "dtype.h"
#include "value.h"

/* Instruction sets that a kernel can have loops for; the host uses the best that the machine
 * supports. x86-64: V2 = SSE2 baseline, V3 = AVX2 and FMA, V4 = AVX-512 F, BW, DQ, VL. Elsewhere
 * only BASELINE. */
enum { TENON_ISA_BASELINE = 0, TENON_ISA_V3 = 1, TENON_ISA_V4 = 2, TENON_ISA_COUNT = 3 };

/* Computes `count` elements. data[0] is the output, data[1...] are the inputs; `strides` has their
 * steps in bytes, which may be 0 or negative. An input may be the output itself, but never overlaps
 * it in another way. `parameters` are the arguments of the call that are not operands, in schema
 * order. Everything is borrowed; valid during the call. Any thread, several at the same time on
 * disjoint ranges. Must not call the host; cannot fail. */
typedef void(TENON_CALL* tenon_loop)(char* const* data, const int64_t* strides, int64_t count,
                                     const tenon_value* parameters);

/* How the dtypes of the operands decide the compute dtype, which selects the loop, and the dtype of
 * the result. */
enum {
  TENON_PROMOTE_COMMON = 0,    /* compute and result: the common dtype of the operands */
  TENON_PROMOTE_FLOAT = 1,     /* the common dtype, integers and bool become f32 */
  TENON_PROMOTE_COMPARE = 2,   /* compute in the common dtype; the result is bool */
  TENON_PROMOTE_CONDITION = 3, /* the first operand is read as bool; the others as COMMON */
  TENON_PROMOTE_MAGNITUDE = 4  /* COMMON; complex operands give the dtype of their parts */
};

/* The kernel of an elementwise op. Growable: begins with its size. Owned by the plugin; valid as
 * long as it is loaded. The op's schema decides the roles: parameters of type Tensor or
 * Tensor|Scalar are operands, in order; `out` is the output when it is given; an operand marked
 * (a!) is the output of an in-place op; all others are parameters of the loop. A scalar operand is
 * an input of stride 0. */
typedef struct tenon_elementwise {
  uint32_t size;      /* bytes of this struct */
  uint32_t promotion; /* TENON_PROMOTE_ */
  /* TENON_ISA_COUNT * TENON_COMPUTED_DTYPE_COUNT entries, which are frozen: loops of further sets and
   * dtypes will get other members. loops[isa * TENON_COMPUTED_DTYPE_COUNT + compute dtype].
   * Null: there is no loop for this pair. f16 and bf16 are computed in f32. */
  const tenon_loop* loops;
  /* TENON_COMPLEX_DTYPE_COUNT entries, for any instruction set: complex_loops[compute dtype -
   * TENON_C64]. Null: the op refuses complex operands. */
  const tenon_loop* complex_loops;
} tenon_elementwise;

#endif
