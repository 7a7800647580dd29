/* The plugin: its only exported symbol, the entry, and the table that the entry returns. */
#ifndef TENON_ABI_PLUGIN_H
#define TENON_ABI_PLUGIN_H

#include <stdint.h>

#include "attributes.h"
#include "error.h"
#include "host.h"
#include "module.h"
#include "op.h"
#include "type.h"

/* A service that a plugin provides: a table of functions for other plugins and the application.
 * Growable: begins with its size. Owned by the plugin; it and everything it points to must stay
 * valid as long as the plugin is loaded. Users hold leases: code that is unloaded or reloaded stays
 * until the last one ends. The functions choose their own rules of threads and ownership. */
typedef struct tenon_service_descriptor {
  uint32_t size;              /* bytes of this struct */
  uint32_t flags;             /* 0 */
  const char* name;           /* "words", not "tenon.": these are the host's */
  const char* doc;            /* one or two plain sentences, for listings; may be null */
  const tenon_service* table; /* functions of the service */
} tenon_service_descriptor;

/* The table of a plugin. Growable: begins with its size. Lives as long as the plugin is loaded. */
typedef struct tenon_plugin {
  uint32_t size;                         /* bytes of this struct */
  uint32_t flags;                        /* 0 */
  uint32_t abi_major;                    /* major of the boundary that it was compiled for */
  uint32_t abi_minor;                    /* the host minor that it needs */
  const char* id;                        /* name of the plugin, as facts have it */
  const char* version;                   /* semantic version of the plugin itself */
  const tenon_op_descriptor* const* ops; /* ops and Functions, in any order */
  int64_t op_count;                      /* entries of `ops` */
  const tenon_module_descriptor* const* modules; /* module types, in any order */
  int64_t module_count;                          /* entries of `modules` */
  /* Called once, before anything of the plugin is visible; a failure refuses the plugin. `options`
   * is the object of the config for this plugin; borrowed, valid during the call; may be null. May
   * be null. Loading thread only. */
  tenon_status(TENON_CALL* init)(const tenon_json* options, tenon_error** error);
  /* Called once: when the process ends, when loading fails after init, or when the plugin is
   * unloaded or replaced and no node, module or memory of it is left. It removes the hooks that the
   * plugin has registered. May be null. Any thread. */
  void(TENON_CALL* shutdown)(void);
  const tenon_type_descriptor* const* types;         /* in any order */
  int64_t type_count;                                /* entries of `types` */
  const tenon_override_descriptor* const* overrides; /* overrides, in any order */
  int64_t override_count;                            /* entries of `overrides` */

  /* For reloads, each may be null. The host calls save_state of the code that is replaced, while it
   * is still in use, then restore_state of the code that replaces it, after its init and before
   * anything of it is visible: `state` is a new reference to a document of the plugin's making, or
   * null; it is borrowed, valid during the call, by restore_state. Both need each other. A failure
   * refuses the new code, and the old one continues. Loading thread only. */
  tenon_status(TENON_CALL* save_state)(tenon_json** state, tenon_error** error);
  /* See save_state. */
  tenon_status(TENON_CALL* restore_state)(const tenon_json* state, tenon_error** error);
  /* A last look before new code takes the place of old code; a failure refuses it. */
  tenon_status(TENON_CALL* self_test)(tenon_error** error);
  const tenon_service_descriptor* const* services; /* services that it provides */
  int64_t service_count;                           /* entries of `services` */
  /* The services that it needs, its facts "uses"; several may name the same one. */
  const tenon_use* const* uses;
  int64_t use_count; /* entries of `uses` */
} tenon_plugin;

/* Name of the entry. */
#define TENON_PLUGIN_ENTRY "tenon_plugin_entry"

/* The entry: may keep `host`, which is valid for the life of the process, and points *plugin at the
 * plugin's table, which the plugin owns. Called once, before init. Loading thread only. */
typedef tenon_status(TENON_CALL* tenon_plugin_entry_function)(const tenon_host* host,
                                                              const tenon_plugin** plugin,
                                                              tenon_error** error);

#endif
