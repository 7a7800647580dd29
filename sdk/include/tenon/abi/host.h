/* The host's services: one append-only table of functions, headed by its versions and size. */
#ifndef TENON_ABI_HOST_H
#define TENON_ABI_HOST_H

#include <stdint.h>

#include "attributes.h"
#include "autograd.h"
#include "error.h"
#include "host_slots.h"
#include "op.h"
#include "saved_hooks.h"
#include "tensor.h"
#include "type.h"
#include "value.h"
#include "version.h"

#define TENON_HOST_MAGIC 0x6f6e6574u /* "teno" */

/* A slot's name in this build. With minor 1 comes, and so on for each:
 *   #if TENON_TARGET_MINOR >= 1
 *   #define TENON_SINCE_1(name) name
 *   #else
 *   #define TENON_SINCE_1(name) name##_needs_target_minor_1
 *   #endif
 * so that what the target lacks does not compile, and the layout stays the same. */
#define TENON_SINCE_0(name) name

#define TENON_HOST_MEMBER(since, result, name, parameters) \
  result(TENON_CALL* TENON_SINCE_##since(name)) parameters;

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

/* For applications, which link libtenon: the process's host. Plugins get it through their entry.
 * Starts the runtime at the first call. Never null. [any-thread] */
TENON_EXPORT const tenon_host* tenon_host_get(void);

#ifdef __cplusplus
}
#endif

#endif
