// Sets of dtypes, and code for each dtype of a set.
#pragma once

#include <string>
#include <type_traits>

#include "tenon/value.hpp"

TENON_NAMESPACE_BEGIN

// One bit for each dtype.
constexpr uint32_t dtype_bit(DType dtype) { return 1u << static_cast<uint32_t>(dtype); }
inline constexpr uint32_t floating_dtypes = dtype_bit(f32) | dtype_bit(f64);  // bits of dtypes
inline constexpr uint32_t integer_dtypes =                                    // bits of dtypes
    dtype_bit(u8) | dtype_bit(i8) | dtype_bit(i16) | dtype_bit(i32) | dtype_bit(i64);
inline constexpr uint32_t bool_dtype = dtype_bit(boolean);                    // its bit
inline constexpr uint32_t complex_dtypes = dtype_bit(c64) | dtype_bit(c128);  // bits of dtypes
// Dtypes that all kernels may compute in, complex ones aside; f16, bf16, u16, u32 and u64 are for
// storage, conversion and files.
inline constexpr uint32_t computed_dtypes = floating_dtypes | integer_dtypes | bool_dtype;

namespace kernel {

// An element as memory holds it: a bool is a byte, true when it is not 0.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// "f32 or f64", "u8, i8, i16, i32 or i64"
inline std::string dtypes_text(uint32_t dtypes) {
  std::string text;
  for (uint32_t i = 0; i < TENON_DTYPE_COUNT; ++i) {
    if ((dtypes >> i & 1) == 0) continue;
    dtypes &= ~(1u << i);
    text += (text.empty() ? "" : dtypes == 0 ? " or " : ", ");
    text += dtype_text(static_cast<DType>(i));
  }
  return text;
}

namespace detail {
[[noreturn]] inline void throw_dtype(DType dtype, uint32_t dtypes) {
  if (dtype == DType::none) throw TypeError("an undefined tensor has no dtype");
  tenon::detail::throw_message(
      TENON_ERROR_TYPE, {"the elements must be ", dtypes_text(dtypes), ", got ", dtype_text(dtype),
                         is_complex(dtype)  ? "; take real(), imag() or abs() of the tensor"
                         : is_narrow(dtype) ? "; convert the tensor with to(float32)"
                                            : "; convert the tensor with to()"});
}
__extension__ typedef unsigned __int128 Bits128;
template <uint32_t Dtypes, class T, class Body>
void visit_one(Body& body) {
  if constexpr ((Dtypes & dtype_bit(dtype_of<T>())) != 0)
    body(Stored<T>{});
  else
    throw_dtype(dtype_of<T>(), Dtypes);
}
}  // namespace detail

// Calls body(T{}), where T is the stored element type of `dtype`; `body` is compiled for the dtypes
// of the set alone. TypeError for a dtype outside of it. Complex dtypes have another function,
// visit_complex of kernel/complex.hpp.
//
//   kernel::visit<floating_dtypes>(x.dtype(), [&](auto zero) { using T = decltype(zero); ... });
template <uint32_t Dtypes, class Body>
void visit(DType dtype, Body&& body) {
  if (__builtin_expect(!is_computed(dtype), 0)) detail::throw_dtype(dtype, Dtypes);
  tenon::visit(dtype, [&](auto zero) { detail::visit_one<Dtypes, decltype(zero)>(body); });
}

// Calls body(T{}), where T is the unsigned integer of the width of an element: for kernels that move
// elements without reading them, which take every dtype and are compiled five times.
template <class Body>
void visit_width(DType dtype, Body&& body) {
  switch (element_size(dtype)) {
    case 1:
      return body(uint8_t{});
    case 2:
      return body(uint16_t{});
    case 4:
      return body(uint32_t{});
    case 8:
      return body(uint64_t{});
    case 16:
      return body(detail::Bits128{});
    default:
      throw TypeError("an undefined tensor has no dtype");
  }
}

}  // namespace kernel
TENON_NAMESPACE_END
