/* Elementwise kernels as data: inner loops by instruction set and dtype; the host does the rest. */
#ifndef TENON_ABI_ELEMENTWISE_H
#define TENON_ABI_ELEMENTWISE_H

#include <stdint.h>

#include "attributes.h"
#include "dtype.h"
#include "value.h"

/* Instruction sets that a kernel may bring loops for; the host takes the best that the machine has.
 * x86-64: V2 = SSE2 baseline, V3 = AVX2 and FMA, V4 = AVX-512 F, BW, DQ, VL. Elsewhere only
 * BASELINE. */
enum { TENON_ISA_BASELINE = 0, TENON_ISA_V3 = 1, TENON_ISA_V4 = 2, TENON_ISA_COUNT = 3 };

/* Runs over `count` elements. data[0] is the output, data[1...] the inputs; strides are in bytes,
 * in the same order, and may be 0 or negative. An input may be the output itself, never a shifted
 * overlap of it. `parameters` are the call's non-operand arguments in schema order (see
 * tenon_elementwise). [any-thread] Runs concurrently on disjoint ranges; must not call the host;
 * cannot fail. */
typedef void(TENON_CALL* tenon_loop)(char* const* data, const int64_t* strides, int64_t count,
                                     const tenon_value* parameters);

/* How the operands' dtypes choose the compute dtype (which selects the loop) and the result dtype.
 */
enum {
  TENON_PROMOTE_COMMON = 0,   /* compute and result: the common dtype of the operands */
  TENON_PROMOTE_FLOAT = 1,    /* the common dtype, integers and bool become f32 */
  TENON_PROMOTE_COMPARE = 2,  /* compute in the common dtype; the result is bool */
  TENON_PROMOTE_CONDITION = 3 /* the first operand is read as bool; the others as COMMON */
};

/* Growable: begins with its size. The op's schema says the rest: parameters of type Tensor or
 * Tensor|Scalar are operands, in order; `out` is the output when given; an operand marked (a!) is
 * the output of an in-place op; all others are parameters. Scalar operands become stride-0 inputs.
 */
typedef struct tenon_elementwise {
  uint32_t size;
  uint32_t promotion;
  /* loops[isa * TENON_DTYPE_COUNT + compute dtype]; null: not available for this pair. */
  const tenon_loop* loops;
} tenon_elementwise;

#endif
