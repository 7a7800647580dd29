/* Element types of tensors. The codes are frozen: files and plugins contain them. */
#ifndef TENON_ABI_DTYPE_H
#define TENON_ABI_DTYPE_H

#include <stdint.h>

#include "complex.h"
#include "half.h"

/* X(name, code, bytes, C type, text, kind, identifier). `text` is the name in schemas, configs,
 * listings and messages, `identifier` that in C++; `kind` is boolean, integer, floating or complex.
 * A bool is one byte, 0 or 1; any other byte reads as true. New dtypes are appended.
 *
 * Kernels compute in the first list. The second is for storage, conversion and files: the host runs
 * ops on f16 and bf16 in f32 (see sdk/docs/explanation.md); u16, u32 and u64 are converted by the
 * caller. The third is computed in by the ops that say so; all others refuse it. The fourth are the
 * formats of the OCP specifications OFP8 1.0 and MX 1.0, which are kept, shown and converted, and never
 * computed in: an element is a byte, and one of fewer bits is in the low bits of its byte. */
#define TENON_COMPUTED_DTYPES(X)                   \
  X(BOOL, 1, 1, uint8_t, "bool", boolean, boolean) \
  X(U8, 2, 1, uint8_t, "u8", integer, u8)          \
  X(I8, 3, 1, int8_t, "i8", integer, i8)           \
  X(I16, 4, 2, int16_t, "i16", integer, i16)       \
  X(I32, 5, 4, int32_t, "i32", integer, i32)       \
  X(I64, 6, 8, int64_t, "i64", integer, i64)       \
  X(F32, 7, 4, float, "f32", floating, f32)        \
  X(F64, 8, 8, double, "f64", floating, f64)
#define TENON_STORED_DTYPES(X)                       \
  X(F16, 9, 2, tenon_f16, "f16", floating, f16)      \
  X(BF16, 10, 2, tenon_bf16, "bf16", floating, bf16) \
  X(U16, 11, 2, uint16_t, "u16", integer, u16)       \
  X(U32, 12, 4, uint32_t, "u32", integer, u32)       \
  X(U64, 13, 8, uint64_t, "u64", integer, u64)
#define TENON_COMPLEX_DTYPES(X)                 \
  X(C64, 14, 8, tenon_c64, "c64", complex, c64) \
  X(C128, 15, 16, tenon_c128, "c128", complex, c128)
#define TENON_NARROW_DTYPES(X)                             \
  X(F8_E4M3, 16, 1, uint8_t, "f8_e4m3", floating, f8_e4m3) \
  X(F8_E5M2, 17, 1, uint8_t, "f8_e5m2", floating, f8_e5m2) \
  X(F8_E8M0, 18, 1, uint8_t, "f8_e8m0", floating, f8_e8m0) \
  X(F6_E2M3, 19, 1, uint8_t, "f6_e2m3", floating, f6_e2m3) \
  X(F6_E3M2, 20, 1, uint8_t, "f6_e3m2", floating, f6_e3m2) \
  X(F4_E2M1, 21, 1, uint8_t, "f4_e2m1", floating, f4_e2m1)
/* TENON_DTYPES: dtypes whose elements have a C type. */
#define TENON_DTYPES(X) TENON_COMPUTED_DTYPES(X) TENON_STORED_DTYPES(X) TENON_COMPLEX_DTYPES(X)
#define TENON_ALL_DTYPES(X) TENON_DTYPES(X) TENON_NARROW_DTYPES(X)

/* X(name, text): other texts that name a dtype, those of PyTorch and NumPy. */
/* clang-format off */
#define TENON_DTYPE_LONG_NAMES(X) \
  X(U8, "uint8") \
  X(I8, "int8") \
  X(I16, "int16") \
  X(I32, "int32") \
  X(I64, "int64") \
  X(F32, "float32") \
  X(F32, "float") \
  X(F64, "float64") \
  X(F64, "double") \
  X(F16, "float16") \
  X(F16, "half") \
  X(BF16, "bfloat16") \
  X(U16, "uint16") \
  X(U32, "uint32") \
  X(U64, "uint64") \
  X(C64, "complex64") \
  X(C128, "complex128") \
  X(F8_E4M3, "float8_e4m3fn") \
  X(F8_E5M2, "float8_e5m2") \
  X(F8_E8M0, "float8_e8m0fnu") \
  X(F6_E2M3, "float6_e2m3fn") \
  X(F6_E3M2, "float6_e3m2fn") \
  X(F4_E2M1, "float4_e2m1fn")
/* clang-format on */

#define TENON_DTYPE_CONSTANT(name, code, ...) TENON_##name = code,
/* TENON_DTYPE_NONE: a dtype was not given. TENON_DTYPE_COUNT: one more than the last code;
 * TENON_COMPUTED_DTYPE_COUNT: one more than the last of the first list. TENON_FIRST_NARROW_DTYPE: the
 * first of the fourth list, which is the last one. */
enum {
  TENON_DTYPE_NONE = 0,
  TENON_ALL_DTYPES(TENON_DTYPE_CONSTANT) TENON_DTYPE_COUNT,
  TENON_COMPUTED_DTYPE_COUNT = TENON_F64 + 1,
  TENON_COMPLEX_DTYPE_COUNT = TENON_C128 - TENON_C64 + 1,
  TENON_FIRST_NARROW_DTYPE = TENON_F8_E4M3
};
#undef TENON_DTYPE_CONSTANT

/* One of the codes above. */
typedef uint8_t tenon_dtype;

#endif
