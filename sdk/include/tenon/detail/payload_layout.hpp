// The layout of a payload's struct as far as a compiler reports it: what two binaries that use one
// tensor type must agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenon/abi/facts.h"
#include "tenon/host.hpp"

// Members are probed by initializing only the first of them, which is what these warn of.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wmissing-braces"

TENON_NAMESPACE_BEGIN
namespace detail {

// The kind of a member, and its size: 0x3008 is a double.
enum : uint32_t {
  any_member,
  boolean_member,
  enumeration,
  floating,
  signed_integer,
  unsigned_integer,
  pointer_member,
  class_member
};
template <class M>
constexpr uint32_t member_code() {
  if constexpr (std::is_reference_v<M> || std::is_array_v<M> || std::is_function_v<M> ||
                std::is_void_v<M>) {
    return 0;
  } else {
    uint32_t kind = class_member;
    if (std::is_same_v<M, bool>)
      kind = boolean_member;
    else if (std::is_enum_v<M>)
      kind = enumeration;
    else if (std::is_floating_point_v<M>)
      kind = floating;
    else if (std::is_integral_v<M>)
      kind = std::is_signed_v<M> ? signed_integer : unsigned_integer;
    else if (std::is_pointer_v<M>)
      kind = pointer_member;
    return kind << 12 | static_cast<uint32_t>(sizeof(M));
  }
}
// Converts to a member of that code, or to any.
template <uint32_t Code>
struct MemberOf {
  template <class M, std::enable_if_t<Code == 0 || member_code<M>() == Code, int> = 0>
  operator M() const;
};
template <class T, uint32_t Code, size_t... I>
auto starts_with(std::index_sequence<I...>, int)
    -> decltype(T{(static_cast<void>(I), std::declval<MemberOf<0>>())...,
                  std::declval<MemberOf<Code>>()},
                std::true_type{});
template <class T, uint32_t Code, size_t... I>
auto starts_with(std::index_sequence<I...>, long) -> std::false_type;
// Whether the member after the first I is of that code.
template <class T, size_t I, uint32_t Code>
inline constexpr bool has_member =
    decltype(starts_with<T, Code>(std::make_index_sequence<I>{}, 0))::value;

template <class T, size_t I, uint32_t Kind, uint32_t... Sizes>
constexpr uint32_t size_of_member() {
  uint32_t code = 0;
  ((has_member<T, I, (Kind << 12 | Sizes)> ? code = (Kind << 12 | Sizes) : code), ...);
  return code;
}
template <class T, size_t I>
constexpr uint32_t member_at() {
  if constexpr (!has_member<T, I, any_member>) {
    return 0;
  } else {
    constexpr uint32_t codes[] = {
        size_of_member<T, I, boolean_member, 1>(),
        size_of_member<T, I, enumeration, 1, 2, 4, 8>(),
        size_of_member<T, I, floating, 4, 8, 16>(),
        size_of_member<T, I, signed_integer, 1, 2, 4, 8>(),
        size_of_member<T, I, unsigned_integer, 1, 2, 4, 8>(),
        size_of_member<T, I, pointer_member, 8>(),
        size_of_member<T, I, class_member, 1, 4, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96>()};
    // A struct within is also reached by its own first member: what is whole counts.
    uint32_t found = 1;
    for (const uint32_t code : codes) found = code != 0 ? code : found;
    return found;
  }
}

constexpr void mix(uint32_t& hash, uint64_t value) {
  for (int byte = 0; byte < 8; ++byte)
    hash = TENON_FNV1A_32_NEXT(hash, static_cast<uint32_t>(value >> (8 * byte)));
}
template <class T, size_t... I>
constexpr void mix_members(uint32_t& hash, std::index_sequence<I...>) {
  (mix(hash, member_at<T, I>()), ...);
}

// Hash of size and alignment and, for an aggregate, of the kinds and sizes of its first members.
template <class T>
constexpr uint32_t payload_fingerprint() {
  uint32_t hash = TENON_FNV1A_32;
  mix(hash, sizeof(T));
  mix(hash, alignof(T));
  mix(hash, std::is_trivially_copyable_v<T> ? 1 : 0);
  if constexpr (std::is_aggregate_v<T>) mix_members<T>(hash, std::make_index_sequence<12>{});
  return hash == 0 ? 1 : hash;
}

}  // namespace detail
TENON_NAMESPACE_END

#pragma GCC diagnostic pop
