// A definition in C++: its facts, its descriptor, and the entry that registers it.
#pragma once

#include "tenon/detail/facts.hpp"
#include "tenon/registration.h"

TENON_NAMESPACE_BEGIN
namespace detail {

// Whether a name can be part of other names: not "my::Op".
constexpr bool is_plain_name(std::string_view name) {
  return name.find_first_of(":<") == std::string_view::npos;
}

}  // namespace detail
TENON_NAMESPACE_END

#define TENON_REGISTER(kind, Definition, Fact, make)                                     \
  static_assert(::tenon::detail::is_plain_name(#Definition),                             \
                "a registration takes a name without '::' and '<': write `using MyOp = " \
                "my::Op;` before it, and register MyOp");                                \
  TENON_FACTS_PLACE static constexpr auto tenon_##kind##_fact_##Definition =             \
      ::tenon::detail::make_facts<::tenon::detail::Fact<Definition>>();                  \
  extern "C" __attribute__((visibility("hidden")))                                       \
  const tenon_##kind##_descriptor TENON_DESCRIPTOR(kind, Definition);                    \
  const tenon_##kind##_descriptor TENON_DESCRIPTOR(kind, Definition) =                   \
      ::tenon::detail::make<Definition>();                                               \
  TENON_ENTRY_PLACE("tenon_" #kind "s")                                                  \
  static const tenon_##kind##_descriptor* const tenon_##kind##_entry_##Definition =      \
      &TENON_DESCRIPTOR(kind, Definition);
