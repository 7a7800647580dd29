// How definitions reach the plugin's table: each leaves a pointer to its descriptor in a section of
// its kind, and the plugin's entry puts these sections into the table. The host registers by name,
// types after their parents: the order of files and of definitions does not matter.
#pragma once

#include "tenon/facts.hpp"

// The linker keeps what nothing refers to: `retain` under --gc-sections, `used` until there. A name
// that is a C identifier gets __start_ and __stop_ symbols.
#if __has_attribute(retain)
#define TENON_ENTRY_PLACE(section_name) __attribute__((section(section_name), used, retain))
#else
#define TENON_ENTRY_PLACE(section_name) __attribute__((section(section_name), used))
#endif

// The descriptor of a definition, its facts, and its entry. The descriptor has a linker name, so
// that two files of a plugin that define the same struct are refused by the linker.
#define TENON_REGISTER(kind, Definition, Fact, make)                                \
  TENON_FACTS_PLACE static constexpr auto tenon_##kind##_fact_##Definition =        \
      ::tenon::detail::make_facts<::tenon::detail::Fact<Definition>>();             \
  extern "C" __attribute__((visibility("hidden")))                                  \
  const tenon_##kind##_descriptor tenon_##kind##_##Definition;                      \
  const tenon_##kind##_descriptor tenon_##kind##_##Definition =                     \
      ::tenon::detail::make<Definition>();                                          \
  TENON_ENTRY_PLACE("tenon_" #kind "s")                                             \
  static const tenon_##kind##_descriptor* const tenon_##kind##_entry_##Definition = \
      &tenon_##kind##_##Definition;

// Hidden, so that no plugin sees the sections of another; weak, since a plugin need not have each
// kind.
#define TENON_ENTRIES(kind)                                         \
  extern "C" __attribute__((weak, visibility("hidden")))            \
  const tenon_##kind##_descriptor* const __start_tenon_##kind##s[]; \
  extern "C" __attribute__((weak, visibility("hidden")))            \
  const tenon_##kind##_descriptor* const __stop_tenon_##kind##s[];

TENON_ENTRIES(op)
TENON_ENTRIES(module)
TENON_ENTRIES(type)
TENON_ENTRIES(override)
#undef TENON_ENTRIES

TENON_NAMESPACE_BEGIN
namespace detail {

// Points the table at all that the files of this plugin define.
inline void collect_entries(tenon_plugin& table) noexcept {
  table.ops = __start_tenon_ops;
  table.op_count = __stop_tenon_ops - __start_tenon_ops;
  table.modules = __start_tenon_modules;
  table.module_count = __stop_tenon_modules - __start_tenon_modules;
  table.types = __start_tenon_types;
  table.type_count = __stop_tenon_types - __start_tenon_types;
  table.overrides = __start_tenon_overrides;
  table.override_count = __stop_tenon_overrides - __start_tenon_overrides;
}

}  // namespace detail
TENON_NAMESPACE_END
