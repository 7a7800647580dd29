// The host and its services, from plugins and applications alike.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tenon/abi/abi.h"
#include "tenon/detail/service_need.hpp"

// Everything of the skin is in a namespace of its version, and hidden in plugins, so that two
// plugins built with different SDKs never share a symbol.
#ifdef TENON_PLUGIN_BUILD
#define TENON_SKIN_VISIBILITY __attribute__((visibility("hidden")))
#else
// Nothing in programs: plugins alone hide their skin.
#define TENON_SKIN_VISIBILITY
#endif
// Begin and end the namespace of the skin, for headers of the SDK.
#define TENON_NAMESPACE_BEGIN \
  namespace tenon {           \
  inline namespace v1 TENON_SKIN_VISIBILITY {
#define TENON_NAMESPACE_END \
  }                         \
  }

#if defined(__clang__)
#define TENON_SELDOM_RUN __attribute__((cold, noinline))
#else
// Before code that each file of a plugin has and seldom runs: GCC leaves it as it is written, since to optimize
// it takes a twentieth of the compile time of a small plugin.
#define TENON_SELDOM_RUN __attribute__((cold, noinline, optimize("O0")))
#endif

TENON_NAMESPACE_BEGIN

#ifdef TENON_PLUGIN_BUILD
namespace detail {
// Defined by TENON_PLUGIN. A program that includes <tenon/plugin.hpp> meets the name as a linker
// error.
struct PluginHost {
  const tenon_host* host = nullptr;
  bool entered = false;      // the host has called the entry: ops can be found
  const char* id = nullptr;  // the plugin's
};
// NOLINTBEGIN(readability-identifier-naming): what the linker says where it is missing
extern "C" __attribute__((visibility("hidden")))
PluginHost tenon_programs_include_tenon_hpp_and_plugins_have_TENON_PLUGIN;
// NOLINTEND(readability-identifier-naming)
__attribute__((always_inline)) inline PluginHost& plugin_host() noexcept {
  return tenon_programs_include_tenon_hpp_and_plugins_have_TENON_PLUGIN;
}
// False while static objects of a plugin are made: ops are looked up at their first use then.
inline bool host_entered() noexcept { return plugin_host().entered; }
inline const char* binary_id() noexcept { return plugin_host().id; }

// A need of this plugin, which exists where some file calls the service.
struct ServiceNeed {
  tenon_use use;
  const void* table;
  PluginHost* plugin;
  void (*note)() noexcept;
};
}  // namespace detail
inline const tenon_host& host() noexcept { return *detail::plugin_host().host; }

#define TENON_HOST_SERVICE(name, NAME) \
  TENON_SERVICE_NEED(name, tenon_##name##_service, "tenon." #name, TENON_##NAME##_VERSION)
#else
namespace detail {
inline const tenon_host* const application_host = tenon_host_get();
constexpr bool host_entered() noexcept { return true; }
constexpr const char* binary_id() noexcept { return nullptr; }

template <class Table>
const Table* host_service(const char* name, uint32_t version) noexcept {
  const void* table = nullptr;
  if (tenon_host_get()->service(name, version, &table, nullptr, nullptr) == TENON_OK)
    return static_cast<const Table*>(table);
  std::fprintf(stderr, "tenon: this program needs version %u of service %s: update libtenon\n",
               static_cast<unsigned>(version), name);
  std::abort();
}
}  // namespace detail
inline const tenon_host& host() noexcept { return *detail::application_host; }
#define TENON_HOST_SERVICE(name, NAME)                                                      \
  inline const tenon_##name##_service* const table_of_##name =                              \
      detail::host_service<tenon_##name##_service>("tenon." #name, TENON_##NAME##_VERSION); \
  inline const tenon_##name##_service& name() noexcept { return *table_of_##name; }
#endif

// The host's services: service::tensors().empty(...). In a plugin a call declares the need.
namespace service {
TENON_SERVICES(TENON_HOST_SERVICE)
}  // namespace service
#undef TENON_HOST_SERVICE

TENON_NAMESPACE_END
