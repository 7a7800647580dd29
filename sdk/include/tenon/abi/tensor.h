/* Tensors as both sides see them: a counted handle with the address of a frozen view struct. */
#ifndef TENON_ABI_TENSOR_H
#define TENON_ABI_TENSOR_H

#include <stdint.h>

#include "dtype.h"

/* Dimensions that a tensor has at most. */
#define TENON_MAX_RANK 16

/* Flags of a view. The host alone writes them. */
enum {
  TENON_TENSOR_CONTIGUOUS = 1 << 0,    /* row-major without gaps */
  TENON_TENSOR_REQUIRES_GRAD = 1 << 1, /* a leaf that needs a gradient, or computed from one */
  TENON_TENSOR_HAS_TANGENT = 1 << 2,   /* carries a forward-mode tangent at the open level */
  TENON_TENSOR_TYPED = 1 << 3,         /* not a plain Tensor: `type` names its tensor type */
  TENON_TENSOR_INFERENCE = 1 << 4,     /* made in inference mode: cannot be recorded */
  TENON_TENSOR_SHAPE_ONLY = 1 << 5,    /* has a shape and a dtype but no data */
  TENON_TENSOR_READ_ONLY = 1 << 6,     /* writing through it is an error */
  TENON_TENSOR_VIEW = 1 << 7,          /* made by an op as a view of another tensor */
  TENON_TENSOR_HALF = 1 << 8           /* its elements are f16 or bf16 */
};

/* The view of a tensor that kernels read without a call. Frozen: 48 bytes. Borrowed; valid as long
 * as the reader holds a reference to the tensor. Any thread may read it; the host changes it only
 * in calls that change the tensor in place. */
typedef struct tenon_tensor_view {
  void* data;             /* the first element; null when `count` is 0 or there is no data */
  const int64_t* shape;   /* `rank` sizes */
  const int64_t* strides; /* `rank` steps in elements, not bytes; may be 0 or negative */
  int64_t count;          /* elements: the product of the shape, 1 for rank 0 */
  uint32_t flags;         /* TENON_TENSOR_ bits */
  uint32_t type;          /* id of the tensor type; 0: Tensor */
  tenon_dtype dtype;      /* a TENON_DTYPE_ */
  uint8_t rank;           /* number of dimensions, up to TENON_MAX_RANK */
  uint8_t device;         /* 0: cpu */
  uint8_t reserved[5];    /* 0 */
} tenon_tensor_view;

/* A counted handle: tensors.retain and tensors.release of the host. Any thread may read it,
 * retain it and release it; threads that write its data synchronize themselves. */
typedef struct tenon_tensor tenon_tensor;

/* The view of a tensor: the boundary guarantees that both have the same address. Borrowed; valid as
 * long as the tensor. Any thread. */
static inline const tenon_tensor_view* tenon_tensor_get_view(const tenon_tensor* tensor) {
  return (const tenon_tensor_view*)(const void*)tensor;
}

#endif
