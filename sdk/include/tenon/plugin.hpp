// Umbrella for plugins: include it first in each of their files.
#pragma once

#if !defined(TENON_PLUGIN_BUILD)
#ifdef TENON_NAMESPACE_BEGIN
#error "include <tenon/plugin.hpp> first; the headers above were included in program mode"
#endif
#define TENON_PLUGIN_BUILD 1
#endif

#include "tenon/autograd.hpp"
#include "tenon/define.hpp"
#include "tenon/detail/plugin_entry.hpp"
#include "tenon/in_place.hpp"
#include "tenon/json.hpp"
#include "tenon/module_definition.hpp"
#include "tenon/needed_gradients.hpp"
#include "tenon/op_list.hpp"
#include "tenon/ops.hpp"
#include "tenon/override_definition.hpp"
#include "tenon/override_entry.hpp"
#include "tenon/parallel.hpp"
#include "tenon/type_definition.hpp"

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
