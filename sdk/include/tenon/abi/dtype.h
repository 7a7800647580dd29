/* Element types of tensors. The codes are frozen: files and plugins contain them. */
#ifndef TENON_ABI_DTYPE_H
#define TENON_ABI_DTYPE_H

#include <stdint.h>

/* X(name, code, bytes, C type, text). `text` is the name in schemas, configs, listings and
 * messages. A bool is one byte, 0 or 1; any other byte reads as true. New dtypes are appended. */
#define TENON_DTYPES(X)          \
  X(BOOL, 1, 1, uint8_t, "bool") \
  X(U8, 2, 1, uint8_t, "u8")     \
  X(I8, 3, 1, int8_t, "i8")      \
  X(I16, 4, 2, int16_t, "i16")   \
  X(I32, 5, 4, int32_t, "i32")   \
  X(I64, 6, 8, int64_t, "i64")   \
  X(F32, 7, 4, float, "f32")     \
  X(F64, 8, 8, double, "f64")

#define TENON_DTYPE_CONSTANT(name, code, bytes, type, text) TENON_##name = code,
/* TENON_DTYPE_NONE: a dtype was not given. TENON_DTYPE_COUNT: one more than the last code. */
enum { TENON_DTYPE_NONE = 0, TENON_DTYPES(TENON_DTYPE_CONSTANT) TENON_DTYPE_COUNT };
#undef TENON_DTYPE_CONSTANT

/* One of the codes above. */
typedef uint8_t tenon_dtype;

#endif
