/* Counts of the plugin opencl, for tests and measurements. */
#ifndef TENON_OPENCL_CONTROL_H
#define TENON_OPENCL_CONTROL_H

#include <tenon/abi/abi.h>

#define OPENCL_CONTROL_VERSION 1

/* Named "opencl.control". Append-only; any thread may call it. */
typedef struct opencl_control_service {
  tenon_service head;
  /* Kernels queued on instance `index` so far; 0 without such an instance. */
  int64_t(TENON_CALL* kernels)(int64_t index);
  /* Calls so far that ran on the CPU in the device's memory, as the op has no kernel for them. */
  int64_t(TENON_CALL* mapped_calls)(void);
  /* The op of the latest one, "" before the first. Borrowed; valid until the calling thread asks
   * again. */
  const char*(TENON_CALL* mapped_op)(void);
} opencl_control_service;

#endif
