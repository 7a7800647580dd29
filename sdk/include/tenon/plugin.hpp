// Umbrella for plugins: include it first in each of their files.
#pragma once

#if !defined(TENON_PLUGIN_BUILD)
#ifdef TENON_NAMESPACE_BEGIN
#error "include <tenon/plugin.hpp> before all other headers of tenon: they are for a program so far"
#endif
#define TENON_PLUGIN_BUILD 1
#endif

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tenon/autograd.hpp"
#include "tenon/define.hpp"
#include "tenon/module.hpp"
#include "tenon/ops.hpp"
#include "tenon/override_entry.hpp"
#include "tenon/parallel.hpp"
#include "tenon/tree.hpp"
#include "tenon/type.hpp"

// Not called where libtenon is not visible to the plugin.
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
    writer.raw("{\"plugin\":{\"id\":");
    writer.string(Plugin::id);
    writer.raw(",\"version\":");
    writer.string(Plugin::version);
    writer.raw(",\"abi\":[");
    writer.number(TENON_ABI_MAJOR);
    writer.put(',');
    writer.number(TENON_TARGET_MINOR);
    writer.raw("],\"sdk\":\"");
    writer.number(TENON_VERSION_MAJOR);
    writer.put('.');
    writer.number(TENON_VERSION_MINOR);
    writer.put('.');
    writer.number(TENON_VERSION_PATCH);
    writer.raw("\",\"compiler\":");
    writer.string(compiler);
    writer.raw("}}");
  }
};

// What static objects of the plugin find before the entry is called: the process's host, which has
// judged the file by its facts; one that calls nothing where libtenon is not visible to the plugin.
[[noreturn]] inline void call_too_early() noexcept {
  std::fputs(
      "tenon: a static object of a plugin was made before the plugin's entry was called: make it a "
      "static inside of a function\n",
      stderr);
  std::abort();
}
inline void meet_host_early() noexcept {
  PluginHost& plugin = plugin_host();
  if (plugin.host != nullptr) return;
  if (tenon_host_get != nullptr) {
    plugin.host = tenon_host_get();
    return;
  }
  static tenon_host none{};
  void (*const call)() = call_too_early;
  for (auto* slot = reinterpret_cast<char*>(&none.error_set);
       slot < reinterpret_cast<char*>(&none + 1); slot += sizeof call)
    std::memcpy(slot, &call, sizeof call);
  plugin.host = &none;
}

inline tenon_status enter(const tenon_host* host, const tenon_plugin* table,
                          const tenon_plugin** plugin, tenon_error** error) noexcept {
  if (host->magic != TENON_HOST_MAGIC || host->abi_major != TENON_ABI_MAJOR ||
      host->abi_minor + 1 < TENON_TARGET_MINOR + 1) {
    constexpr char text[] = "the host's boundary is older than the one this plugin was built for";
    return host->error_set(error, TENON_ERROR_PLUGIN, text, sizeof(text) - 1);
  }
  plugin_host() = {host, true, table->id};
  *plugin = table;
  return TENON_OK;
}

}  // namespace detail
TENON_NAMESPACE_END

// The plugin: its id, its version, and the list of what it brings, one line each:
//
//   #define HELLO(op, module) op(Square) op(Cube) module(Doubler)
//   TENON_PLUGIN(hello, "0.1.0", HELLO)
//
// The names are those given to TENON_OP and TENON_MODULE, in any file of the plugin.
// TENON_PLUGIN_TYPES takes a second list, of the names given to TENON_TYPE and TENON_OVERRIDE,
// types after their parents; a plugin without ops and modules gives TENON_NOTHING as the first:
//
//   #define DIAGONAL(type, override) type(Diagonal) override(AddDiagonals)
//
// TENON_PLUGIN_WITH takes flags and an init function `tenon_status (const tenon_tree* options,
// tenon_error**)`; TENON_PLUGIN_FULL takes everything: both lists, flags, init, and a shutdown
// function `void ()`. 0 and nullptr stand for what there is not.
#define TENON_PLUGIN(name, version_text, LIST) \
  TENON_PLUGIN_FULL(name, version_text, LIST, TENON_NOTHING, 0, nullptr, nullptr)
#define TENON_PLUGIN_TYPES(name, version_text, LIST, TYPES) \
  TENON_PLUGIN_FULL(name, version_text, LIST, TYPES, 0, nullptr, nullptr)
#define TENON_PLUGIN_WITH(name, version_text, LIST, plugin_flags, init_function) \
  TENON_PLUGIN_FULL(name, version_text, LIST, TENON_NOTHING, plugin_flags, init_function, nullptr)
#define TENON_NOTHING(first, second)

#define TENON_DECLARE_OP(Definition) \
  extern "C" __attribute__((visibility("hidden"))) const tenon_op_descriptor tenon_op_##Definition;
#define TENON_DECLARE_MODULE(Definition)           \
  extern "C" __attribute__((visibility("hidden"))) \
  const tenon_module_descriptor tenon_module_##Definition;
#define TENON_DECLARE_TYPE(Definition)             \
  extern "C" __attribute__((visibility("hidden"))) \
  const tenon_type_descriptor tenon_type_##Definition;
#define TENON_DECLARE_OVERRIDE(Definition)         \
  extern "C" __attribute__((visibility("hidden"))) \
  const tenon_override_descriptor tenon_override_##Definition;
#define TENON_LIST_TYPE(Definition) &tenon_type_##Definition,
#define TENON_LIST_OVERRIDE(Definition) &tenon_override_##Definition,
#define TENON_LIST_OP(Definition) &tenon_op_##Definition,
#define TENON_LIST_MODULE(Definition) &tenon_module_##Definition,
#define TENON_LIST_NOTHING(Definition)

#define TENON_PLUGIN_FULL(name, version_text, LIST, TYPES, plugin_flags, init_function,         \
                          shutdown_function)                                                    \
  LIST(TENON_DECLARE_OP, TENON_DECLARE_MODULE)                                                  \
  TYPES(TENON_DECLARE_TYPE, TENON_DECLARE_OVERRIDE)                                             \
  namespace {                                                                                   \
  struct tenon_plugin_##name {                                                                  \
    static constexpr auto id = #name;                                                           \
    static constexpr auto version = version_text;                                               \
  };                                                                                            \
  constexpr const tenon_op_descriptor* tenon_ops_of_##name[] = {                                \
      LIST(TENON_LIST_OP, TENON_LIST_NOTHING) nullptr};                                         \
  constexpr const tenon_module_descriptor* tenon_modules_of_##name[] = {                        \
      LIST(TENON_LIST_NOTHING, TENON_LIST_MODULE) nullptr};                                     \
  constexpr const tenon_type_descriptor* tenon_types_of_##name[] = {                            \
      TYPES(TENON_LIST_TYPE, TENON_LIST_NOTHING) nullptr};                                      \
  constexpr const tenon_override_descriptor* tenon_overrides_of_##name[] = {                    \
      TYPES(TENON_LIST_NOTHING, TENON_LIST_OVERRIDE) nullptr};                                  \
  constexpr tenon_plugin tenon_table_of_##name = {                                              \
      sizeof(tenon_plugin),                                                                     \
      plugin_flags,                                                                             \
      TENON_ABI_MAJOR,                                                                          \
      TENON_TARGET_MINOR,                                                                       \
      #name,                                                                                    \
      version_text,                                                                             \
      tenon_ops_of_##name,                                                                      \
      sizeof(tenon_ops_of_##name) / sizeof(void*) - 1,                                          \
      tenon_modules_of_##name,                                                                  \
      sizeof(tenon_modules_of_##name) / sizeof(void*) - 1,                                      \
      init_function,                                                                            \
      shutdown_function,                                                                        \
      tenon_types_of_##name,                                                                    \
      sizeof(tenon_types_of_##name) / sizeof(void*) - 1,                                        \
      tenon_overrides_of_##name,                                                                \
      sizeof(tenon_overrides_of_##name) / sizeof(void*) - 1};                                   \
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
    return ::tenon::detail::enter(host, &tenon_table_of_##name, plugin, error);                 \
  }
