// The work of TENON_PLUGIN: the plugin's facts, its table, its entry, and the host for static objects
// that are made before the entry is called. Empty for programs.
#pragma once

#ifdef TENON_PLUGIN_BUILD

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tenon/detail/facts.hpp"
#include "tenon/registration.h"

// Not called where libtenon is not visible to the plugin.
// NOLINTNEXTLINE(readability-redundant-declaration): weak here
extern "C" __attribute__((weak, visibility("default"))) const tenon_host* tenon_host_get(void);

TENON_NAMESPACE_BEGIN
namespace detail {

#if defined(__clang__)
inline constexpr std::string_view compiler = "clang " __clang_version__;
#elif defined(__GNUC__)
inline constexpr std::string_view compiler = "gcc " __VERSION__;
#else
inline constexpr std::string_view compiler = "unknown";
#endif

template <class Plugin>
struct PluginFact {
  static constexpr void write(FactsWriter& writer) {
    writer.raw(R"({"plugin":{"id":)");
    writer.string(Plugin::id);
    writer.raw(R"(,"version":)");
    writer.string(Plugin::definition.version);
    writer.raw(R"(,"abi":[)");
    writer.number(TENON_ABI_MAJOR);
    writer.put(',');
    writer.number(TENON_TARGET_MINOR);
    writer.raw(R"(],"sdk":")");
    writer.number(TENON_VERSION_MAJOR);
    writer.put('.');
    writer.number(TENON_VERSION_MINOR);
    writer.put('.');
    writer.number(TENON_VERSION_PATCH);
    writer.raw(R"(","compiler":)");
    writer.string(compiler);
    writer.raw("}}");
  }
};

// The host and its services for static objects of the plugin, before the entry is called: the
// process's, which has judged the file by its facts; functions that abort where libtenon is not
// visible to the plugin, and in place of other plugins' services.
#if defined(__clang__)
// It stands for slots of every type, and reads none of what they are given.
[[clang::no_sanitize("function")]]
#endif
[[noreturn]] inline void
call_too_early() noexcept {
  std::fputs(
      "tenon: a static object used the host before the plugin was entered; make it a "
      "function-local static\n",
      stderr);
  std::abort();
}
TENON_SELDOM_RUN inline void meet_host_early() noexcept {
  PluginHost& plugin = plugin_host();
  if (plugin.host != nullptr) return;
  static void (*none[128])();
  for (auto& slot : none) slot = call_too_early;
  const tenon_host* early = tenon_host_get != nullptr ? tenon_host_get() : nullptr;
  plugin.host = early != nullptr ? early : reinterpret_cast<const tenon_host*>(none);
  for (const tenon_use* const* use = __start_tenon_uses; use != __stop_tenon_uses; ++use) {
    const void* table = nullptr;
    if (early != nullptr && std::strncmp((*use)->name, "tenon.", 6) == 0)
      early->service((*use)->name, (*use)->version, &table, nullptr, nullptr);
    *(*use)->table = table != nullptr ? table : none;
  }
}

// The arguments of TENON_PLUGIN.
struct PluginDefinition {
  const char* version;
  // Called once, before anything of the plugin is visible; `options` is the config's object for the
  // plugin, or null. A plugin without it takes no options.
  tenon_status (*init)(const tenon_json* options, tenon_error** error) = nullptr;
  // Called before unloading, once nothing else of the plugin is in use.
  void (*shutdown)() = nullptr;
  // For reloads, see abi/plugin.h: what the code before hands to the code after, and a last test.
  tenon_status (*save_state)(tenon_json** state, tenon_error** error) = nullptr;
  tenon_status (*restore_state)(const tenon_json* state, tenon_error** error) = nullptr;
  tenon_status (*self_test)(tenon_error** error) = nullptr;
};

template <class Plugin>
constexpr tenon_plugin make_table() {
  tenon_plugin table{};
  table.size = sizeof(tenon_plugin);
  table.abi_major = TENON_ABI_MAJOR;
  table.abi_minor = TENON_TARGET_MINOR;
  table.id = Plugin::id;
  table.version = Plugin::definition.version;
  table.init = Plugin::definition.init;
  table.shutdown = Plugin::definition.shutdown;
  table.save_state = Plugin::definition.save_state;
  table.restore_state = Plugin::definition.restore_state;
  table.self_test = Plugin::definition.self_test;
  return table;
}

inline tenon_status enter(const tenon_host* host, tenon_plugin& table, const tenon_plugin** plugin,
                          tenon_error** error) noexcept {
  if (host->magic != TENON_HOST_MAGIC || host->abi_major != TENON_ABI_MAJOR ||
      host->abi_minor + 1 < TENON_TARGET_MINOR + 1) {
    constexpr char text[] = "the host's boundary is older than the one this plugin was built for";
    return host->error_set(error, TENON_ERROR_PLUGIN, text, sizeof(text) - 1);
  }
  plugin_host() = {host, true, table.id};
  tenon_collect_entries(&table);
  *plugin = &table;
  return TENON_OK;
}

}  // namespace detail
TENON_NAMESPACE_END
#endif
