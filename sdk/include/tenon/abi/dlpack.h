/* The structs of DLPack 1.3, by which array libraries give each other their memory: the layouts of dlpack.h
 * under other names, so that both headers fit into one file. Cast a DLManagedTensorVersioned* to
 * tenon_dl_managed_versioned*, and a DLManagedTensor* to tenon_dl_managed*. */
#ifndef TENON_ABI_DLPACK_H
#define TENON_ABI_DLPACK_H

#include <stdint.h>

#define TENON_DL_MAJOR 1
#define TENON_DL_MINOR 3

/* Codes of tenon_dl_device: the memory of a tensor. */
enum {
  TENON_DL_CPU = 1,
  TENON_DL_CUDA = 2,
  TENON_DL_CUDA_HOST = 3,
  TENON_DL_OPENCL = 4,
  TENON_DL_VULKAN = 7,
  TENON_DL_METAL = 8,
  TENON_DL_VPI = 9,
  TENON_DL_ROCM = 10,
  TENON_DL_ROCM_HOST = 11,
  TENON_DL_EXTENSION = 12,
  TENON_DL_CUDA_MANAGED = 13,
  TENON_DL_ONEAPI = 14,
  TENON_DL_WEBGPU = 15,
  TENON_DL_HEXAGON = 16,
  TENON_DL_MAIA = 17,
  TENON_DL_TRAINIUM = 18
};

/* Kinds of elements: the codes of tenon_dl_dtype. */
enum {
  TENON_DL_INT = 0,
  TENON_DL_UINT = 1,
  TENON_DL_FLOAT = 2,
  TENON_DL_OPAQUE = 3,
  TENON_DL_BFLOAT = 4,
  TENON_DL_COMPLEX = 5,
  TENON_DL_BOOL = 6,
  TENON_DL_F8_E3M4 = 7,
  TENON_DL_F8_E4M3 = 8,
  TENON_DL_F8_E4M3B11FNUZ = 9,
  TENON_DL_F8_E4M3FN = 10,
  TENON_DL_F8_E4M3FNUZ = 11,
  TENON_DL_F8_E5M2 = 12,
  TENON_DL_F8_E5M2FNUZ = 13,
  TENON_DL_F8_E8M0FNU = 14,
  TENON_DL_F6_E2M3FN = 15,
  TENON_DL_F6_E3M2FN = 16,
  TENON_DL_F4_E2M1FN = 17
};

/* Bits of `flags` of tenon_dl_managed_versioned. */
enum {
  TENON_DL_READ_ONLY = 1,
  TENON_DL_IS_COPIED = 2,
  TENON_DL_SUBBYTE_PADDED = 4 /* an element of fewer than 8 bits has a byte */
};

typedef struct tenon_dl_device {
  int32_t type;
  int32_t id;
} tenon_dl_device;

typedef struct tenon_dl_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} tenon_dl_dtype;

typedef struct tenon_dl_tensor {
  void* data;
  tenon_dl_device device;
  int32_t rank;
  tenon_dl_dtype dtype;
  int64_t* shape;
  int64_t* strides;     /* in elements; null, from producers before 1.2: row-major */
  uint64_t byte_offset; /* offset of the first element from `data` */
} tenon_dl_tensor;

/* The struct before DLPack 1.0. */
typedef struct tenon_dl_managed {
  tenon_dl_tensor tensor;
  void* manager;
  void (*deleter)(struct tenon_dl_managed* self); /* may be null */
} tenon_dl_managed;

typedef struct tenon_dl_version {
  uint32_t major;
  uint32_t minor;
} tenon_dl_version;

typedef struct tenon_dl_managed_versioned {
  tenon_dl_version version;
  void* manager;
  void (*deleter)(struct tenon_dl_managed_versioned* self); /* may be null */
  uint64_t flags;
  tenon_dl_tensor tensor;
} tenon_dl_managed_versioned;

#endif
