// Element types: sizes, names, promotion, and the step from a dtype to a C++ type.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "core/base/error.hpp"
#include "tenon/abi/dtype.h"

namespace tenon::core {

enum class DtypeCategory : uint8_t { boolean, integer, floating, complex };  // as in TENON_DTYPES

constexpr bool dtype_valid(tenon_dtype dtype) {
  return dtype > TENON_DTYPE_NONE && dtype < TENON_DTYPE_COUNT;
}

// At namespace scope: a table inside of the function is copied to the stack by each call.
#define TENON_BYTES(name, code, bytes, ...) bytes,
inline constexpr int8_t kDtypeBytes[] = {0, TENON_ALL_DTYPES(TENON_BYTES)};
#undef TENON_BYTES
// 0 for a dtype that does not exist.
constexpr int64_t dtype_bytes(tenon_dtype dtype) {
  return dtype < TENON_DTYPE_COUNT ? kDtypeBytes[dtype] : 0;
}

constexpr DtypeCategory dtype_category(tenon_dtype dtype) {
#define TENON_KIND(name, code, bytes, type, text, kind, ...) DtypeCategory::kind,
  constexpr DtypeCategory kinds[] = {DtypeCategory::integer, TENON_ALL_DTYPES(TENON_KIND)};
#undef TENON_KIND
  return dtype < TENON_DTYPE_COUNT ? kinds[dtype] : DtypeCategory::integer;
}
constexpr bool dtype_half(tenon_dtype dtype) { return dtype == TENON_F16 || dtype == TENON_BF16; }
constexpr bool dtype_floating(tenon_dtype dtype) {
  return dtype == TENON_F32 || dtype == TENON_F64 || dtype_half(dtype);
}
constexpr bool dtype_complex(tenon_dtype dtype) {
  return dtype == TENON_C64 || dtype == TENON_C128;
}
// Whether tensors of it have gradients.
constexpr bool dtype_differentiable(tenon_dtype dtype) {
  return dtype_floating(dtype) || dtype_complex(dtype);
}
// The dtype of the parts of a complex one, else the dtype itself.
constexpr tenon_dtype real_dtype(tenon_dtype dtype) {
  return dtype == TENON_C64    ? tenon_dtype{TENON_F32}
         : dtype == TENON_C128 ? tenon_dtype{TENON_F64}
                               : dtype;
}
// The complex dtype whose parts hold a floating one.
constexpr tenon_dtype complex_dtype(tenon_dtype dtype) {
  return dtype == TENON_F64 || dtype == TENON_C128 ? TENON_C128 : TENON_C64;
}
// Whether kernels of all ops compute in it; u16, u32 and u64 are for storage, conversion and files,
// f16 and bf16 are computed in f32, and complex ones by few ops.
constexpr bool dtype_computed(tenon_dtype dtype) { return dtype < TENON_COMPUTED_DTYPE_COUNT; }
// f32 for f16 and bf16, else the dtype itself.
constexpr tenon_dtype compute_dtype(tenon_dtype dtype) {
  return dtype_half(dtype) ? tenon_dtype{TENON_F32} : dtype;
}
// f8, f6 and f4: kept and converted (narrow.hpp), never computed in.
constexpr bool dtype_narrow(tenon_dtype dtype) { return dtype >= TENON_FIRST_NARROW_DTYPE; }
// u16, u32, u64
constexpr bool dtype_wide_unsigned(tenon_dtype dtype) {
  return dtype == TENON_U16 || dtype == TENON_U32 || dtype == TENON_U64;
}

// "f32"; "none" for TENON_DTYPE_NONE and codes that do not exist.
const char* dtype_text(tenon_dtype dtype) noexcept;
// Reads "f32" or "float32" and the like; TENON_DTYPE_NONE when it is not a dtype.
tenon_dtype dtype_find(std::string_view text) noexcept;
// The short names of all, for messages.
std::span<const std::string_view> dtype_names() noexcept;
// Throws ValueError for a code that does not exist.
void dtype_check(tenon_dtype dtype);

[[noreturn, gnu::cold]] void fail_no_common_dtype(tenon_dtype a, tenon_dtype b);
// Throws TypeError for a narrow dtype, whose elements have no C++ type.
[[noreturn, gnu::cold]] void fail_no_element(tenon_dtype dtype);

// The dtype of a result that mixes two, as in PyTorch: complex wins over floats, they over integers,
// these over bool, wide over narrow; u8 with i8 needs i16, f16 with bf16 f32, f64 with c64 c128.
// TENON_DTYPE_NONE where there is none: u16, u32 and u64 mix with floats and complex numbers alone, narrow
// dtypes with none.
// (A dtype that was not given leaves the other.)
constexpr tenon_dtype promote_dtypes(tenon_dtype a, tenon_dtype b) {
  if (a == b || b == TENON_DTYPE_NONE) return a;
  if (a == TENON_DTYPE_NONE) return b;
  if (dtype_narrow(a) || dtype_narrow(b)) return TENON_DTYPE_NONE;
  const DtypeCategory category_a = dtype_category(a);
  const DtypeCategory category_b = dtype_category(b);
  if (category_a == DtypeCategory::complex || category_b == DtypeCategory::complex) {
    return a == TENON_F64 || a == TENON_C128 || b == TENON_F64 || b == TENON_C128 ? TENON_C128
                                                                                  : TENON_C64;
  }
  if (category_a == DtypeCategory::floating || category_b == DtypeCategory::floating) {
    if (category_a != category_b) return category_a > category_b ? a : b;
    if (dtype_half(a) && dtype_half(b)) return TENON_F32;
  } else if (dtype_wide_unsigned(a) || dtype_wide_unsigned(b)) {
    return TENON_DTYPE_NONE;
  }
  if (category_a != category_b) return category_a > category_b ? a : b;
  if ((a == TENON_U8 && b == TENON_I8) || (a == TENON_I8 && b == TENON_U8)) return TENON_I16;
  return dtype_bytes(a) > dtype_bytes(b) ? a : b;
}
// The dtype of promote_dtypes; throws TypeError when there is none.
constexpr tenon_dtype common_dtype(tenon_dtype a, tenon_dtype b) {
  const tenon_dtype common = promote_dtypes(a, b);
  if (common == TENON_DTYPE_NONE && a != b) [[unlikely]]
    fail_no_common_dtype(a, b);
  return common;
}

// The C++ type of an element: of a bool `bool`, whose stored form is a uint8_t that may hold any
// non-zero value for true.
template <tenon_dtype>
struct ElementOf;
#define TENON_ELEMENT(name, code, bytes, type, ...)                  \
  template <>                                                        \
  struct ElementOf<code> {                                           \
    using Type = std::conditional_t<code == TENON_BOOL, bool, type>; \
  };
TENON_DTYPES(TENON_ELEMENT)
#undef TENON_ELEMENT

template <class T>
constexpr tenon_dtype dtype_of() {
#define TENON_IS(name, code, ...) \
  if constexpr (std::is_same_v<T, ElementOf<code>::Type>) return code;
  TENON_DTYPES(TENON_IS)
#undef TENON_IS
  return TENON_DTYPE_NONE;
}

// Calls `body(std::type_identity<T>{})`.
template <class Body>
decltype(auto) visit_dtype(tenon_dtype dtype, Body&& body) {
  switch (dtype) {
#define TENON_CASE(name, code, ...) \
  case code:                        \
    return body(std::type_identity<ElementOf<code>::Type>{});
    TENON_DTYPES(TENON_CASE)
#undef TENON_CASE
    default:
      fail_no_element(dtype);
  }
}

}  // namespace tenon::core
