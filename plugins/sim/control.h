/* Faults on request: a service of the plugin sim, for tests of what uses a device. */
#ifndef TENON_SIM_CONTROL_H
#define TENON_SIM_CONTROL_H

#include <tenon/abi/abi.h>

#define SIM_CONTROL_VERSION 1

/* Named "sim.control". Append-only; any thread may call it. */
typedef struct sim_control_service {
  tenon_service head;
  /* Allocations of all instances so far. */
  int64_t(TENON_CALL* allocations)(void);
  /* The allocation after `after` more fails with a MemoryError, once; -1: none. */
  void(TENON_CALL* fail_allocation)(int64_t after);
  /* Limits the bytes that the tensors of an instance take; -1: no limit. */
  void(TENON_CALL* limit_bytes)(int64_t bytes);
} sim_control_service;

#endif
