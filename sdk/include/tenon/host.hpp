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
inline const tenon_host* plugin_host = nullptr;  // set by the entry, before anything else runs
inline const char* binary_id = nullptr;          // the plugin's
}  // namespace detail
inline const tenon_host& host() noexcept { return *detail::plugin_host; }
#else
namespace detail {
inline const tenon_host* const application_host = tenon_host_get();
inline constexpr const char* binary_id = nullptr;
}  // namespace detail
inline const tenon_host& host() noexcept { return *detail::application_host; }
#endif

TENON_NAMESPACE_END
