/* Plugins: where they are, and which are loaded.
 *
 * A slot: changes which code is active in the process. Not a slot: reading configs, judging
 * signatures, listings: libraries do these.
 *
 *   tenon_status status = tenon_plugins->load("math", error);
 *
 * Any thread; plugins that are loaded or unloaded meanwhile are waited for. */
#ifndef TENON_ABI_SERVICE_PLUGINS_H
#define TENON_ABI_SERVICE_PLUGINS_H

#include "service.h"

#define TENON_PLUGINS_VERSION 1 /* newest version of the table; grows with its slots */

/* Bits of `policy_apply`. */
enum {
  TENON_POLICY_LAZY =
      1 /* no plugin code runs: plugins with "load": "eager" wait for their first use */
};

/* Choices of `unload` while something holds the plugin. */
enum {
  TENON_UNLOAD_REFUSE = 0, /* fails, and changes nothing */
  TENON_UNLOAD_WAIT = 1,   /* withdraws it, and waits until nothing does */
  TENON_UNLOAD_FORCE = 2   /* withdraws it, and returns: it goes when nothing holds it */
};

/* Named "tenon.plugins". */
typedef struct tenon_plugins_service {
  tenon_service head; /* size and version */

  /* Puts a folder in front of those that are searched for plugins. Any thread. */
  tenon_status(TENON_CALL* path_add)(const char* folder, tenon_error** error);
  /* Loads a plugin now; nothing happens when it is loaded already. Any thread. */
  tenon_status(TENON_CALL* load)(const char* id_or_path, tenon_error** error);
  /* Unloads a plugin: from the return on no call reaches it; handles of its ops raise PluginError,
   * or call the next provider. What was recorded, created or registered with its code continues,
   * and the code with it. `choice`, a TENON_UNLOAD_, says what to do while that is so;
   * `timeout_ms` limits TENON_UNLOAD_WAIT, < 0: no limit. `report`, which may be null, becomes
   * {"id", "path", "generation", "state": "draining", "drained" or "unmapped", "holders": {kind:
   * count}, "kept_by": [text], "fault"?}: why drained code is not unmapped, what its shutdown
   * threw. Loaded again by load alone. PluginError when it is not loaded, is held
   * (TENON_UNLOAD_REFUSE), when others build on its types, or within a call, but for
   * TENON_UNLOAD_FORCE. New reference. Any thread. */
  tenon_status(TENON_CALL* unload)(const char* id, uint32_t choice, int64_t timeout_ms,
                                   tenon_json** report, tenon_error** error);
  /* Loads the plugin's file as it is now and puts its code in place of the code that is active:
   * calls that begin after the return run the new code; graphs that were recorded before run the
   * old one, which goes when nothing holds it. On failure the old code stays as it was. A plugin
   * that is not loaded is loaded. `generation`, which may be null: 1 for a first load, one more
   * with each reload. Any thread. */
  tenon_status(TENON_CALL* reload)(const char* id_or_path, uint64_t* generation,
                                   tenon_error** error);
  /* Decides about plugins and their ops by a policy, in front of earlier ones: which plugins are
   * used, from where, and whose ops win. share/tenon/documents.md has its members; a config that was
   * read has them all. ConfigError with the place of what is not of a policy; PluginError lists what
   * the plugins do not have, and nothing changes. `flags`: TENON_POLICY_ bits. Any thread. */
  tenon_status(TENON_CALL* policy_apply)(const tenon_json* policy, uint32_t flags,
                                         tenon_error** error);
} tenon_plugins_service;

#endif
