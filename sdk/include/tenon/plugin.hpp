// Umbrella for plugins: include it first in each of their files.
#pragma once

#if !defined(TENON_PLUGIN_BUILD)
#ifdef TENON_NAMESPACE_BEGIN
#error "include <tenon/plugin.hpp> first; the headers above were included in program mode"
#endif
#define TENON_PLUGIN_BUILD 1
#endif

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tenon/autograd.hpp"
#include "tenon/define.hpp"
#include "tenon/in_place.hpp"
#include "tenon/json.hpp"
#include "tenon/module_definition.hpp"
#include "tenon/needed_gradients.hpp"
#include "tenon/op_list.hpp"
#include "tenon/ops.hpp"
#include "tenon/override_entry.hpp"
#include "tenon/parallel.hpp"
#include "tenon/type.hpp"

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
inline void meet_host_early() noexcept {
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

// The plugin: its id and version, once. What it provides needs no list: each TENON_OP,
// TENON_MODULE, TENON_TYPE and TENON_OVERRIDE of its files registers itself.
//
//   TENON_PLUGIN(hello, "0.1.0")
//   TENON_PLUGIN(hello, "0.1.0", initialize)             // see PluginDefinition
//   TENON_PLUGIN(hello, "0.1.0", initialize, shut_down)  // nullptr for one that is not needed
#define TENON_PLUGIN(name, ...)                                                                 \
  namespace {                                                                                   \
  struct tenon_plugin_##name {                                                                  \
    static constexpr auto id = #name;                                                           \
    static constexpr ::tenon::detail::PluginDefinition definition{__VA_ARGS__};                 \
  };                                                                                            \
  tenon_plugin tenon_table_of_##name = ::tenon::detail::make_table<tenon_plugin_##name>();      \
  }                                                                                             \
  TENON_FACTS_PLACE static constexpr auto tenon_plugin_fact_##name =                            \
      ::tenon::detail::make_facts<::tenon::detail::PluginFact<tenon_plugin_##name>>();          \
  extern "C" {                                                                                  \
  ::tenon::detail::PluginHost tenon_programs_include_tenon_hpp_and_plugins_have_TENON_PLUGIN{}; \
  }                                                                                             \
  namespace {                                                                                   \
  __attribute__((constructor(101))) void tenon_meet_host_of_##name() {                          \
    ::tenon::detail::meet_host_early();                                                         \
  }                                                                                             \
  }                                                                                             \
  extern "C" TENON_EXPORT tenon_status tenon_plugin_entry(                                      \
      const tenon_host* host, const tenon_plugin** plugin, tenon_error** error) {               \
    return ::tenon::detail::enter(host, tenon_table_of_##name, plugin, error);                  \
  }
