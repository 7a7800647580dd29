// Access to the host table, from plugins and applications alike.
#pragma once

#include <cstdint>

#include "tenon/abi/abi.h"

// Everything of the skin is in a namespace of its version, and hidden in plugins, so that two
// plugins built with different SDKs never share a symbol.
#ifdef TENON_PLUGIN_BUILD
#define TENON_SKIN_VISIBILITY __attribute__((visibility("hidden")))
#else
#define TENON_SKIN_VISIBILITY
#endif
#define TENON_NAMESPACE_BEGIN \
  namespace tenon {           \
  inline namespace v1 TENON_SKIN_VISIBILITY {
#define TENON_NAMESPACE_END \
  }                         \
  }

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
inline PluginHost& plugin_host() noexcept {
  return tenon_programs_include_tenon_hpp_and_plugins_have_TENON_PLUGIN;
}
// False while static objects of a plugin are made: ops are looked up at their first use then.
inline bool host_entered() noexcept { return plugin_host().entered; }
inline const char* binary_id() noexcept { return plugin_host().id; }
}  // namespace detail
inline const tenon_host& host() noexcept { return *detail::plugin_host().host; }
#else
namespace detail {
inline const tenon_host* const application_host = tenon_host_get();
constexpr bool host_entered() noexcept { return true; }
constexpr const char* binary_id() noexcept { return nullptr; }
}  // namespace detail
inline const tenon_host& host() noexcept { return *detail::application_host; }
#endif

TENON_NAMESPACE_END
