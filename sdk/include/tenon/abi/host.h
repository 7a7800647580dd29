/* The host: the frozen head of the boundary, which leads to all services.
 *
 * A slot of this struct: what an entry needs before it has a service. There are no others, and none
 * will be added: a function of the host belongs to a service (service/service.h has the rules).
 *
 *   const void* table = NULL;
 *   tenon_status status =
 *       tenon_host_get()->service("tenon.tensors", TENON_TENSORS_VERSION, &table, NULL, &error);
 *   const tenon_tensors_service* tensors = table;
 *
 * Any thread. One host per process, the same for every plugin and application; it never changes,
 * and is valid for the life of the process. */
#ifndef TENON_ABI_HOST_H
#define TENON_ABI_HOST_H

#include <stdint.h>

#include "tenon/abi/service/service.h"

#define TENON_HOST_MAGIC 0x6f6e6574u /* "teno" */

/* Frozen: 40 bytes. */
typedef struct tenon_host {
  uint32_t magic;     /* TENON_HOST_MAGIC */
  uint32_t size;      /* bytes of this struct */
  uint32_t abi_major; /* TENON_ABI_MAJOR of the host */
  uint32_t abi_minor; /* TENON_ABI_MINOR of the host */

  /* Stores kind and message in `*error`, replacing what is there; returns `kind`. A kind out of
   * range becomes TENON_ERROR_RUNTIME. `error` may be null. Any thread. */
  tenon_status(TENON_CALL* error_set)(tenon_error** error, tenon_status kind, const char* message,
                                      int64_t length);
  /* The table of a service in this version or a newer one; loads the plugin that declares it.
   * PluginError when no plugin does, when several do and nothing ranks them, when the version is
   * too new, and when the provider cannot be loaded or was unloaded. Asking again gives the table
   * of the code that is active then.
   *   A table of the host's is valid for the life of the process; `*lease` becomes null. One of a
   * plugin is valid until service_release(*lease), even where the plugin is unloaded or reloaded
   * meanwhile. With `lease` null, which it may be, it is held for the life of the process.
   * Any thread, but not while a lock is held that the provider's init takes. */
  tenon_status(TENON_CALL* service)(const char* name, uint32_t version, const void** table,
                                    tenon_lease** lease, tenon_error** error);
  /* Ends a lease: the table must not be used by it any more. May be null. Any thread. */
  void(TENON_CALL* service_release)(tenon_lease* lease);
} tenon_host;

#ifdef __cplusplus
extern "C" {
#endif

/* The process's host, for applications, which link libtenon; plugins get it through their entry.
 * Starts the runtime at the first call. Borrowed; valid for the life of the process. Never null.
 * Any thread. */
TENON_EXPORT const tenon_host* tenon_host_get(void);

#ifdef __cplusplus
}
#endif

#endif
