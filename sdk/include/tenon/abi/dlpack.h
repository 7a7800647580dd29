/* The structs of DLPack 1.3, by which array libraries give each other their memory: the layouts of dlpack.h
 * under other names, so that both headers fit into one file. All are frozen, by DLPack. Cast a DLManagedTensorVersioned* to
 * tenon_dl_managed_versioned*, and a DLManagedTensor* to tenon_dl_managed*. */
#ifndef TENON_ABI_DLPACK_H
#define TENON_ABI_DLPACK_H

#include <stdint.h>

#define TENON_DL_MAJOR 1 /* version of DLPack that the layouts are of */
#define TENON_DL_MINOR 3 /* version of DLPack that the layouts are of */

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

/* A device, as DLDevice. Frozen. */
typedef struct tenon_dl_device {
  int32_t type; /* a kDLDeviceType; 1: the CPU */
  int32_t id;   /* number among devices of the type */
} tenon_dl_device;

/* Type of an element, as DLDataType. Frozen. */
typedef struct tenon_dl_dtype {
  uint8_t code;   /* a TENON_DL_ kind of numbers */
  uint8_t bits;   /* bits of a lane */
  uint16_t lanes; /* numbers in an element; 1 but for vectors */
} tenon_dl_dtype;

/* Memory and its shape, as DLTensor. Frozen. */
typedef struct tenon_dl_tensor {
  void* data;             /* start of the memory; may be null without elements */
  tenon_dl_device device; /* device of the memory */
  int32_t rank;           /* number of dimensions */
  tenon_dl_dtype dtype;   /* type of an element */
  int64_t* shape;         /* `rank` sizes */
  int64_t* strides;       /* in elements; null, from producers before 1.2: row-major */
  uint64_t byte_offset;   /* offset of the first element from `data` */
} tenon_dl_tensor;

/* The struct before DLPack 1.0, as DLManagedTensor. Frozen. */
typedef struct tenon_dl_managed {
  tenon_dl_tensor tensor;                         /* the memory and its shape */
  void* manager;                                  /* the producer's, for `deleter` */
  void (*deleter)(struct tenon_dl_managed* self); /* may be null */
} tenon_dl_managed;

/* A version of DLPack, as DLPackVersion. Frozen. */
typedef struct tenon_dl_version {
  uint32_t major; /* layouts differ between majors */
  uint32_t minor; /* grows with additions */
} tenon_dl_version;

/* The struct since DLPack 1.0, as DLManagedTensorVersioned. Frozen. */
typedef struct tenon_dl_managed_versioned {
  tenon_dl_version version;                                 /* version of the producer */
  void* manager;                                            /* the producer's, for `deleter` */
  void (*deleter)(struct tenon_dl_managed_versioned* self); /* may be null */
  uint64_t flags;                                           /* TENON_DL_ bits */
  tenon_dl_tensor tensor;                                   /* the memory and its shape */
} tenon_dl_managed_versioned;

#endif
