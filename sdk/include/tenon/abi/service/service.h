/* Services: small append-only tables of functions, of the host and of plugins alike.
 *
 * A service has a name, a version, and a table that begins with the head below. The host's own
 * are named "tenon.NAME", each in a header NAME.h beside this one; a plugin provides one under any
 * other name (tenon_service_descriptor in plugin.h), and its users include the provider's header.
 *
 *   TENON_USES(tensors, 1)  // in C: declares the need, and the pointer tenon_tensors
 *   ...
 *   status = tenon_tensors->empty(TENON_F32, 2, shape, &result, error);
 *
 * In C++ the need is declared by the use: service::tensors().empty(...). Needs are facts of the
 * file: a service that is not known, or a version too new, refuses a plugin before it is opened. An
 * application asks tenon_host_get()->service.
 *
 * Rules for every table:
 * - Slots are appended at the end, and each append raises the version by one; none is removed,
 *   retyped or moved. A table serves its own version and all before it; a change that breaks users
 *   is a service of another name.
 * - Arguments named `flags` are refused with ArgumentError where they have a bit that the callee does
 *   not know; a caller that needs the bit asks for the version of the table that has it.
 * - A slot that can fail returns a status. It fills `error` when `error` is not null; the caller
 *   then owns the error. On failure no out parameter owns anything.
 * - Pointers must not be null unless the slot says "may be null". Names and paths given as one
 *   `const char*` are NUL-terminated; text with a length is not. All text is UTF-8.
 * - Arguments are borrowed for the call unless the slot says "takes".
 *
 * Phrases:
 *   "New reference."         the caller owns it and releases it with the matching release slot
 *   "Owned."                 of a value: the caller calls values.release
 *   "Borrowed; valid ..."    the caller must not release it, and retains it to keep it longer
 *   "Takes X."               the callee owns X from then on, on failure too
 *   "Any thread."            several threads may call it at the same time. Threads that change one
 *                            object (a tensor's data, a module's entries) synchronize themselves.
 *   "Calling thread only."   acts on state of the thread that calls: its modes, its scopes, or a
 *                            context, which is valid on the thread that runs the callback */
#ifndef TENON_ABI_SERVICE_SERVICE_H
#define TENON_ABI_SERVICE_SERVICE_H

#include <stdint.h>

#include "tenon/abi/attributes.h"
#include "tenon/abi/error.h"
#include "tenon/abi/tensor.h"
#include "tenon/abi/value.h"
#include "tenon/abi/version.h"

/* The head of every table. Frozen; tables grow at their ends. A slot past `size` does not exist in
 * the running provider. */
typedef struct tenon_service {
  uint32_t size;    /* bytes of the table */
  uint32_t version; /* version of the table that the provider has */
} tenon_service;

/* A use of a plugin's service: as long as it is held, the provider's code stays. See tenon_host. */
typedef struct tenon_lease tenon_lease;

/* A need of a plugin, in its list of uses. After the entry has returned, and before init, the host
 * stores the table in `*table`; it is valid as long as the plugin is loaded. Growable: begins with
 * its size. Owned by the plugin. */
typedef struct tenon_use {
  uint32_t size;      /* bytes of this struct */
  uint32_t version;   /* the oldest that has the slots that the plugin calls */
  const char* name;   /* full name of the service */
  const void** table; /* place for the table */
} tenon_use;

#endif
