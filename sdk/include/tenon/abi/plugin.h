/* The plugin: its single exported entry symbol and the table that the entry fills. */
#ifndef TENON_ABI_PLUGIN_H
#define TENON_ABI_PLUGIN_H

#include <stdint.h>

#include "attributes.h"
#include "error.h"
#include "host.h"
#include "module.h"
#include "op.h"
#include "type.h"

/* Growable: begins with its size. Lives as long as the plugin is loaded. */
typedef struct tenon_plugin {
  uint32_t size;
  uint32_t flags; /* 0 */
  uint32_t abi_major;
  uint32_t abi_minor; /* the host minor that it needs */
  const char* id;
  const char* version; /* semantic version of the plugin itself */
  const tenon_op_descriptor* const* ops;
  int64_t op_count;
  const tenon_module_descriptor* const* modules;
  int64_t module_count;
  /* Both may be null. init is called once, before anything of the plugin is visible; `options` is
   * the config's object for this plugin, or null. shutdown is called before unloading. [load] */
  tenon_status(TENON_CALL* init)(const tenon_tree* options, tenon_error** error);
  void(TENON_CALL* shutdown)(void);
  const tenon_type_descriptor* const* types; /* in any order */
  int64_t type_count;
  const tenon_override_descriptor* const* overrides;
  int64_t override_count;
} tenon_plugin;

#define TENON_PLUGIN_ENTRY "tenon_plugin_entry"

/* The only symbol that a plugin exports. Keeps `host` (it outlives the plugin) and points *plugin
 * at its table. [load] */
typedef tenon_status(TENON_CALL* tenon_plugin_entry_function)(const tenon_host* host,
                                                              const tenon_plugin** plugin,
                                                              tenon_error** error);

#endif
