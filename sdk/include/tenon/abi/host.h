/* The host's services: one append-only table of functions, headed by its versions and size. */
#ifndef TENON_ABI_HOST_H
#define TENON_ABI_HOST_H

#include <stdint.h>

#include "attributes.h"
#include "error.h"
#include "host_slots.h"
#include "op.h"
#include "tensor.h"
#include "value.h"
#include "version.h"

#define TENON_HOST_MAGIC 0x6f6e6574u /* "teno" */

#define TENON_HOST_MEMBER(since, result, name, parameters) result(TENON_CALL* name) parameters;

/* Slots past `size` do not exist in this host. One table per process, the same for everyone. */
typedef struct tenon_host {
  uint32_t magic;
  uint32_t size;
  uint32_t abi_major;
  uint32_t abi_minor;
  TENON_HOST_SLOTS(TENON_HOST_MEMBER)
} tenon_host;
#undef TENON_HOST_MEMBER

#ifdef __cplusplus
extern "C" {
#endif

/* For applications, which link libtenon: the process's host. Plugins get it through their entry. Starts
 * the runtime at the first call. Never null. [any-thread] */
TENON_EXPORT const tenon_host* tenon_host_get(void);

#ifdef __cplusplus
}
#endif

#endif
