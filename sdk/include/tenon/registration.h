/* How definitions reach the plugin's table: each leaves a pointer to its descriptor in a section of
 * its kind, and the plugin's entry puts these sections into the table. The host registers by name,
 * types after their parents: the order of files and of definitions does not matter. Needs of
 * services are collected in the same way, and the host fills them. */
#ifndef TENON_REGISTRATION_H
#define TENON_REGISTRATION_H

#include "tenon/abi/plugin.h"

#if __has_attribute(retain)
#define TENON_ENTRY_PLACE(section_name) __attribute__((section(section_name), used, retain))
#else
/* Puts a descriptor into a section. The linker keeps what nothing refers to: `retain` under --gc-sections,
 * `used` until there. A name that is a C identifier gets __start_ and __stop_ symbols. */
#define TENON_ENTRY_PLACE(section_name) __attribute__((section(section_name), used))
#endif

/* The linker name of a descriptor: two files of a plugin that register the same name are refused,
 * and the name says what to do. */
#define TENON_DESCRIPTOR(kind, name) tenon_##kind##_##name##_is_registered_twice_rename_one

/* Hidden, so that no plugin sees the sections of another; weak, since a plugin need not have each
 * kind. */
#ifdef __cplusplus
#define TENON_SECTION_BOUND extern "C" __attribute__((weak, visibility("hidden"))) const
#else
#define TENON_SECTION_BOUND extern __attribute__((weak, visibility("hidden"))) const
#endif
#define TENON_ENTRIES(kind)                                                       \
  TENON_SECTION_BOUND tenon_##kind##_descriptor* const __start_tenon_##kind##s[]; \
  TENON_SECTION_BOUND tenon_##kind##_descriptor* const __stop_tenon_##kind##s[];
TENON_ENTRIES(op)
TENON_ENTRIES(module)
TENON_ENTRIES(type)
TENON_ENTRIES(override)
TENON_ENTRIES(service)
#undef TENON_ENTRIES
/* Needs of services: the first one. */
TENON_SECTION_BOUND tenon_use* const __start_tenon_uses[];
/* Needs of services: the end of their list. */
TENON_SECTION_BOUND tenon_use* const __stop_tenon_uses[];
#undef TENON_SECTION_BOUND

/* Points the table at all that the files of this plugin define. */
static inline void tenon_collect_entries(tenon_plugin* table) {
  table->ops = __start_tenon_ops;
  table->op_count = __stop_tenon_ops - __start_tenon_ops;
  table->modules = __start_tenon_modules;
  table->module_count = __stop_tenon_modules - __start_tenon_modules;
  table->types = __start_tenon_types;
  table->type_count = __stop_tenon_types - __start_tenon_types;
  table->overrides = __start_tenon_overrides;
  table->override_count = __stop_tenon_overrides - __start_tenon_overrides;
  table->services = __start_tenon_services;
  table->service_count = __stop_tenon_services - __start_tenon_services;
  table->uses = __start_tenon_uses;
  table->use_count = __stop_tenon_uses - __start_tenon_uses;
}

#endif
