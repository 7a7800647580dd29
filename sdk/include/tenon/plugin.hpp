// Umbrella for plugins: definitions of ops and Functions, operators on tensors, and the plugin itself.
// Include it first in each file of a plugin, then a header for each other thing that the file uses:
//
//   ops.hpp                   the ops of math and blas as functions and methods: exp(x), x.sum()
//   module_definition.hpp     TENON_MODULE
//   type_definition.hpp       TENON_TYPE
//   override_definition.hpp   TENON_OVERRIDE
//   service.hpp               TENON_SERVICE, TENON_USES_SERVICE
//   json.hpp                  options of the plugin
//   parallel.hpp              loops on several threads, random numbers
//   autograd.hpp              backward, hooks, forward mode inside of an op
//   indexing.hpp              x[1], x[{ellipsis, Slice(2, none)}]
//   kernel/                   what kernels are made of
#pragma once

#if !defined(TENON_PLUGIN_BUILD)
#ifdef TENON_NAMESPACE_BEGIN
#error "include <tenon/plugin.hpp> first; the headers above were included in program mode"
#endif
// Headers of the SDK are compiled for a plugin: its entry has the host, and its skin is hidden.
#define TENON_PLUGIN_BUILD 1
#endif

#include "tenon/define.hpp"
#include "tenon/detail/plugin_entry.hpp"
#include "tenon/in_place.hpp"
#include "tenon/needed_gradients.hpp"
#include "tenon/op_list.hpp"
#include "tenon/operators.hpp"

// Definitions that need a header which is missing.
#define TENON_INCLUDE_FIRST(Definition, header) \
  static_assert(sizeof(#Definition) == 0,       \
                "include " header " before the definition of " #Definition);
#ifndef TENON_MODULE
#define TENON_MODULE(Definition) TENON_INCLUDE_FIRST(Definition, "<tenon/module_definition.hpp>")
#endif
#ifndef TENON_TYPE
#define TENON_TYPE(Definition) TENON_INCLUDE_FIRST(Definition, "<tenon/type_definition.hpp>")
#endif
#ifndef TENON_OVERRIDE
#define TENON_OVERRIDE(Definition) \
  TENON_INCLUDE_FIRST(Definition, "<tenon/override_definition.hpp>")
#endif

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
