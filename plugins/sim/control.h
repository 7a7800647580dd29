/* Faults and delays on request: a service of the plugin sim, for tests of what uses a device. */
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
  /* Each kernel that runs on a queue waits, at random, up to `microseconds` before it begins, drawn from
   * `seed`; 0: none does. */
  void(TENON_CALL* delay_kernels)(int64_t microseconds, uint64_t seed);
  /* Kernels of all instances that were begun on a queue so far. */
  int64_t(TENON_CALL* kernels)(void);
  /* The kernel after `after` more that begins on a queue fails with a RuntimeError, once; -1: none. Its
   * message has "failure N", its number among all such ones, from 0. */
  void(TENON_CALL* fail_kernel)(int64_t after);
  /* Each kernel on a queue fails with this probability, drawn from `seed`; 0: none does. */
  void(TENON_CALL* fail_kernels)(double probability, uint64_t seed);
  /* The instance is lost: kernels, allocations and copies fail with a RuntimeError until it is found
   * again, and what was on it is lost for ever. `index` is one that there is. */
  void(TENON_CALL* lose)(int64_t index);
  void(TENON_CALL* find)(int64_t index);
  /* Kernels that have failed so far, by fail_kernel and fail_kernels. */
  int64_t(TENON_CALL* failures)(void);
} sim_control_service;

#endif
