// The need of a service, as the file of a plugin and its table of uses have it.
#pragma once

#include "tenon/abi/facts.h"

// Defines `access()`, the table of a service, for all files of a plugin. A file that calls it has
// the need, a pointer that the host fills; the need has a function that is never called; in it are
// the fact that declares the need, and the entry of the need in the plugin's table of uses, as
// sections of the function's group. So linkers keep all of these once, or none, and the compilers'
// trouble with attributes for sections of inline variables is avoided. Braces of the JSON are
// octal, since they choose between dialects of assembly.
#define TENON_SERVICE_NEED(access, Table, service_name, needed_version)                              \
  inline __attribute__((visibility("hidden"))) void tenon_note_of_##access() noexcept;               \
  inline                                                                                             \
      __attribute__((visibility("hidden"))) ::tenon::detail::ServiceNeed tenon_need_of_##access{     \
          {sizeof(tenon_use), needed_version, service_name, &tenon_need_of_##access.table},          \
          nullptr,                                                                                   \
          &::tenon::detail::tenon_programs_include_tenon_hpp_and_plugins_have_TENON_PLUGIN,          \
          tenon_note_of_##access};                                                                   \
  inline __attribute__((visibility("hidden"))) void tenon_note_of_##access() noexcept {              \
    __asm__ volatile(".pushsection " TENON_FACTS_SECTION                                           \
                     ",\"a?\",%%note\n"                                                            \
                     ".balign 4\n"                                                                 \
                     ".long 6, 12 + (3f - 1f), " TENON_ASSEMBLED(TENON_FACTS_TYPE_NUMBER) "\n"     \
                     ".asciz \"" TENON_FACTS_OWNER "\"\n"                                          \
                     ".balign 4\n"                                                                 \
                     ".long 1, 2f - 1f, 0\n"                                                       \
                     "1: .ascii \"\\173\\\"uses\\\":\\173\\\"service\\\":\\\"" service_name        \
                     "\\\",\\\"version\\\":" TENON_ASSEMBLED(needed_version) "\\175\\175\"\n"      \
                     "2: .balign 4\n"                                                              \
                     "3: .popsection\n"                                                            \
                     ".pushsection tenon_uses,\"aw?\",%%progbits\n"                                \
                     ".balign 8\n"                                                                 \
                     ".quad %c0\n"                                                                 \
                     ".popsection" ::"i"(&tenon_need_of_##access)); \
  }                                                                                                  \
  inline __attribute__((visibility("hidden"))) const Table& access() noexcept {                      \
    return *static_cast<const Table*>(tenon_need_of_##access.table);                                 \
  }
#define TENON_ASSEMBLED(number) TENON_ASSEMBLED_TEXT(number)
#define TENON_ASSEMBLED_TEXT(number) #number
