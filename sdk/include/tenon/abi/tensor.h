/* Tensors as both sides see them: an opaque handle whose address is that of a frozen view record.
 */
#ifndef TENON_ABI_TENSOR_H
#define TENON_ABI_TENSOR_H

#include <stdint.h>

#include "dtype.h"

#define TENON_MAX_RANK 16

/* Flags of a view. The host keeps them; nobody else writes them. */
enum {
  TENON_TENSOR_CONTIGUOUS = 1 << 0,    /* row-major without gaps */
  TENON_TENSOR_REQUIRES_GRAD = 1 << 1, /* a leaf that asks for a gradient, or computed from one */
  TENON_TENSOR_HAS_TANGENT = 1 << 2,   /* carries a forward-mode tangent at the present level */
  TENON_TENSOR_TYPED = 1 << 3,         /* not a plain Tensor: `type` names its tensor type */
  TENON_TENSOR_INFERENCE = 1 << 4,     /* made in inference mode: never to be recorded */
  TENON_TENSOR_SHAPE_ONLY = 1 << 5,    /* shape and dtype without data */
  TENON_TENSOR_READ_ONLY = 1 << 6,     /* writing through it is an error */
  TENON_TENSOR_VIEW = 1 << 7           /* made by an op as a view of another tensor */
};

/* Frozen: 48 bytes, read by kernels without a call. Valid as long as a reference to the tensor is
 * held. `shape` and `strides` have `rank` entries; strides count elements, not bytes, and may be 0
 * (expanded) or negative. `data` is the first element, null when `count` is 0 or the tensor has no
 * data. */
typedef struct tenon_tensor_view {
  void* data;
  const int64_t* shape;
  const int64_t* strides;
  int64_t count;
  uint32_t flags;
  uint32_t type; /* 0: Tensor */
  tenon_dtype dtype;
  uint8_t rank;
  uint8_t device; /* 0: cpu */
  uint8_t reserved[5];
} tenon_tensor_view;

typedef struct tenon_tensor tenon_tensor;

/* A handle's address is its view's address: a promise of the boundary, for any thread, at no cost.
 */
static inline const tenon_tensor_view* tenon_tensor_get_view(const tenon_tensor* tensor) {
  return (const tenon_tensor_view*)(const void*)tensor;
}

#endif
