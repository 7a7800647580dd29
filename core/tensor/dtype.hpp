// Element types: sizes, names, promotion, and the step from a dtype to a C++ type.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "core/base/error.hpp"
#include "tenon/abi/dtype.h"

namespace tenon::core {

enum class DtypeCategory : uint8_t { boolean, integer, floating };

constexpr bool dtype_valid(tenon_dtype dtype) {
  return dtype > TENON_DTYPE_NONE && dtype < TENON_DTYPE_COUNT;
}

// 0 for a dtype that does not exist.
constexpr int64_t dtype_bytes(tenon_dtype dtype) {
#define TENON_BYTES(name, code, bytes, type, text) bytes,
  constexpr int8_t sizes[] = {0, TENON_DTYPES(TENON_BYTES)};
#undef TENON_BYTES
  return dtype < TENON_DTYPE_COUNT ? sizes[dtype] : 0;
}

constexpr DtypeCategory dtype_category(tenon_dtype dtype) {
  if (dtype == TENON_BOOL) return DtypeCategory::boolean;
  return dtype == TENON_F32 || dtype == TENON_F64 ? DtypeCategory::floating
                                                  : DtypeCategory::integer;
}
constexpr bool dtype_floating(tenon_dtype dtype) {
  return dtype_category(dtype) == DtypeCategory::floating;
}

// "f32"; "none" for TENON_DTYPE_NONE and codes that do not exist.
const char* dtype_text(tenon_dtype dtype) noexcept;
// Reads "f32" or "float32" and the like; TENON_DTYPE_NONE when it is not a dtype.
tenon_dtype dtype_find(std::string_view text) noexcept;
// The same; throws ValueError with the list of dtypes.
tenon_dtype dtype_parse(std::string_view text);
// Throws ValueError for a code that does not exist.
void dtype_check(tenon_dtype dtype);

// The dtype of a result that mixes two: a float wins over integers, they over bool, wide over
// narrow; u8 with i8 needs i16.
constexpr tenon_dtype promote_dtypes(tenon_dtype a, tenon_dtype b) {
  if (a == b || b == TENON_DTYPE_NONE) return a;
  if (a == TENON_DTYPE_NONE) return b;
  const DtypeCategory category_a = dtype_category(a);
  const DtypeCategory category_b = dtype_category(b);
  if (category_a != category_b) return category_a > category_b ? a : b;
  if ((a == TENON_U8 && b == TENON_I8) || (a == TENON_I8 && b == TENON_U8)) return TENON_I16;
  return dtype_bytes(a) > dtype_bytes(b) ? a : b;
}

template <class T>
constexpr tenon_dtype dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return TENON_BOOL;
  if constexpr (std::is_same_v<T, uint8_t>) return TENON_U8;
  if constexpr (std::is_same_v<T, int8_t>) return TENON_I8;
  if constexpr (std::is_same_v<T, int16_t>) return TENON_I16;
  if constexpr (std::is_same_v<T, int32_t>) return TENON_I32;
  if constexpr (std::is_same_v<T, int64_t>) return TENON_I64;
  if constexpr (std::is_same_v<T, float>) return TENON_F32;
  if constexpr (std::is_same_v<T, double>) return TENON_F64;
  return TENON_DTYPE_NONE;
}

// Calls `body(std::type_identity<T>{})`; for TENON_BOOL T is bool, whose stored form is a uint8_t
// that may hold any non-zero value for true.
template <class Body>
decltype(auto) visit_dtype(tenon_dtype dtype, Body&& body) {
  switch (dtype) {
    case TENON_BOOL:
      return body(std::type_identity<bool>{});
    case TENON_U8:
      return body(std::type_identity<uint8_t>{});
    case TENON_I8:
      return body(std::type_identity<int8_t>{});
    case TENON_I16:
      return body(std::type_identity<int16_t>{});
    case TENON_I32:
      return body(std::type_identity<int32_t>{});
    case TENON_I64:
      return body(std::type_identity<int64_t>{});
    case TENON_F32:
      return body(std::type_identity<float>{});
    case TENON_F64:
      return body(std::type_identity<double>{});
    default:
      throw Error(TENON_ERROR_INTERNAL, "dtype {} has no C++ type", dtype);
  }
}

}  // namespace tenon::core
